"""What the notebook of the mini course is given."""
# ======== for all: one function ========


def triple(x):
    """-> three times x"""
    return 3 * x
