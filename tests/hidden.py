"""False forms of displays that the build does not refuse yet; `test_falsified.py` holds that.

They were designed with the data in view, and each is false elsewhere, as the line beside it says.
What refuses one turns its test red; it then belongs in `coinciding.py`. None is known today.
"""

HIDDEN = []  # label, what stands there, what is put there, why it is false
