"""Files that go to the browser."""


def download(name):
    """Note which file was asked for."""
    open(name).close()
    with open("downloaded.txt", "a") as file:
        file.write(name + "\n")
