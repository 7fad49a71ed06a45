"""A stand-in for google.colab: as much of it as the notebooks ask for."""
