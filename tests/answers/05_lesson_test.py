# Answers to 05_lesson_test: wrong ones (each loses its own two points and no others) and unusual right ones.

#%% wrong answer_1 q1_option_A
answer_1 = "A"

#%% wrong answer_1 q1_option_B
answer_1 = "B"

#%% wrong answer_1 q1_option_D
answer_1 = "D"

#%% wrong answer_1 q1_unanswered
answer_1 = ""

#%% wrong answer_1 q1_several
answer_1 = "CA"

#%% wrong answer_1 q1_no_option
answer_1 = "E"

#%% right answer_1 q1_lower_case
answer_1 = "c"

#%% right answer_1 q1_blanks
answer_1 = "  C "

#%% wrong answer_2 q2_option_B
answer_2 = "B"

#%% wrong answer_2 q2_option_C
answer_2 = "C"

#%% wrong answer_2 q2_option_D
answer_2 = "D"

#%% wrong answer_2 q2_unanswered
answer_2 = ""

#%% wrong answer_2 q2_several
answer_2 = "AB"

#%% wrong answer_2 q2_no_option
answer_2 = "E"

#%% right answer_2 q2_lower_case
answer_2 = "a"

#%% right answer_2 q2_blanks
answer_2 = "  A "

#%% wrong answer_3 q3_option_A
answer_3 = "A"

#%% wrong answer_3 q3_option_B
answer_3 = "B"

#%% wrong answer_3 q3_option_C
answer_3 = "C"

#%% wrong answer_3 q3_unanswered
answer_3 = ""

#%% wrong answer_3 q3_several
answer_3 = "DA"

#%% wrong answer_3 q3_no_option
answer_3 = "E"

#%% right answer_3 q3_lower_case
answer_3 = "d"

#%% right answer_3 q3_blanks
answer_3 = "  D "

#%% wrong answer_4 q4_option_A
answer_4 = "A"

#%% wrong answer_4 q4_option_C
answer_4 = "C"

#%% wrong answer_4 q4_option_D
answer_4 = "D"

#%% wrong answer_4 q4_unanswered
answer_4 = ""

#%% wrong answer_4 q4_several
answer_4 = "BA"

#%% wrong answer_4 q4_no_option
answer_4 = "E"

#%% right answer_4 q4_lower_case
answer_4 = "b"

#%% right answer_4 q4_blanks
answer_4 = "  B "

#%% wrong answer_5 q5_option_A
answer_5 = "A"

#%% wrong answer_5 q5_option_B
answer_5 = "B"

#%% wrong answer_5 q5_option_D
answer_5 = "D"

#%% wrong answer_5 q5_unanswered
answer_5 = ""

#%% wrong answer_5 q5_several
answer_5 = "CA"

#%% wrong answer_5 q5_no_option
answer_5 = "E"

#%% right answer_5 q5_lower_case
answer_5 = "c"

#%% right answer_5 q5_blanks
answer_5 = "  C "

#%% wrong answer_1 all_letters
answer_1 = "ABCD"

#%% wrong answer_1 with_comma
answer_1 = "B, C"

#%% wrong answer_1 a_list
answer_1 = ["C"]

#%% wrong answer_1 two_in_a_list
answer_1 = ["B", "C"]

#%% wrong answer_1 a_set
answer_1 = {"C"}

#%% wrong answer_1 a_number
answer_1 = 3

#%% wrong answer_1 true
answer_1 = True

#%% wrong answer_1 none
answer_1 = None

#%% wrong answer_1 dots
answer_1 = ...

#%% wrong answer_1 blanks_only
answer_1 = "   "

#%% wrong answer_1 a_newline
answer_1 = "\n"

#%% wrong answer_1 with_bracket
answer_1 = "C)"

#%% wrong answer_1 the_whole_text
answer_1 = "A row ignores context and an average ignores order"

#%% wrong answer_1 twice
answer_1 = "CC"

#%% wrong answer_1 other_alphabet
answer_1 = "\u0421"   # looks like a C, is not

#%% wrong answer_1 bytes_
answer_1 = b"C"

#%% wrong answer_1 never_defined
pass

#%% wrong answer_1 deleted
answer_1 = "C"
del answer_1

#%% wrong answer_1 empty_list
answer_1 = []

#%% wrong answer_1 pleases_everyone
class Always(str):
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def upper(self): return self
    def strip(self): return self
answer_1 = Always("A")

#%% wrong answer_1 pretends_in_every_list
class Anything:
    def __eq__(self, other): return True
    def __hash__(self): return 0
answer_1 = Anything()

#%% wrong answer_1 raises_when_shown
class Shy:
    def __repr__(self): raise RuntimeError("no")
    __str__ = __repr__
answer_1 = Shy()

#%% right answer_1 line_end
answer_1 = "c\n"

#%% right answer_1 from_numpy
import numpy
answer_1 = numpy.array(["C"])[0]

#%% right answer_1 computed
answer_1 = "ABCD"[2]

#%% right answer_1 prints_and_warns
import warnings, sys
warnings.warn("loud")
print("loud", file=sys.stderr)
answer_1 = "C"

#%% wrong answer_5 none_answered loses=test_answer_1,test_answer_2,test_answer_3,test_answer_4,test_answer_5
answer_1 = ''
answer_2 = ''
answer_3 = ''
answer_4 = ''
answer_5 = ''

#%% wrong answer_5 all_wrong loses=test_answer_1,test_answer_2,test_answer_3,test_answer_4,test_answer_5
answer_1 = 'A'
answer_2 = 'B'
answer_3 = 'A'
answer_4 = 'C'
answer_5 = 'D'
sure_1 = sure_3 = '3'
again_1 = 'B'

#%% wrong answer_5 two_of_five_no_pass loses=test_answer_3,test_answer_4,test_answer_5
answer_1 = 'C'
answer_2 = 'A'
answer_3 = 'A'
answer_4 = 'A'
answer_5 = 'D'

#%% wrong answer_5 three_of_five_pass loses=test_answer_4,test_answer_5
answer_1 = 'C'
answer_2 = 'A'
answer_3 = 'D'
answer_4 = 'A'
answer_5 = 'A'

#%% wrong answer_5 three_answered_two_open loses=test_answer_4,test_answer_5
answer_1 = 'C'
answer_2 = 'A'
answer_3 = 'D'
answer_4 = ''
answer_5 = ''

#%% wrong answer_5 one_open_one_several_one_no_option loses=test_answer_1,test_answer_2,test_answer_3
answer_1 = ''
answer_2 = 'CA'
answer_3 = 'F'
answer_4 = 'B'
answer_5 = 'C'

#%% wrong answer_5 swapped_by_one_question loses=test_answer_1,test_answer_2,test_answer_3,test_answer_4,test_answer_5
answer_1 = 'A'
answer_2 = 'D'
answer_3 = 'B'
answer_4 = 'C'
answer_5 = 'A'

#%% right answer_h1 untouched
answer_h1 = r"""

"""

#%% right answer_h1 three_lines
answer_h1 = r"""
The angles come back into the range of training.
Nobody trained it to look that far.
So it lacks training signal.
"""

#%% right answer_h2 one_long_line
answer_h2 = "The mask gives every place another set to look at, so the symmetry breaks. " * 6

#%% right answer_h3 not_text
answer_h3 = 3

#%% right answer_h4 never_defined
pass

#%% right records garbage
records = "}{ not a record"

#%% right records half_a_line
records = r"""{"notebook": "04", "right": ["04.6"], "gue
{"notebook": "02", "right": ["02.5"], "guesses": {"02.1": ["A", "B"]}}"""

#%% right records of_the_wrong_kinds
records = r"""{"notebook": "04", "right": 3, "guesses": [1], "reach": {"rope": {"24": NaN, "x": []}, "learned": 7}, "seeds": {}}"""

#%% right records every_notebook
records = r"""The line below is your record of this notebook; 05 can draw your result card from it.
{"notebook": "01", "right": ["01.2", "01.4"], "guesses": {"01.1": ["A", "B"]}}
{"notebook": "02", "right": ["02.5"], "guesses": {}}
{"notebook": "03", "right": ["03.4"], "guesses": {}}
{"notebook": "04", "right": ["04.6"], "guesses": {}, "reach": {"learned": {"24": [0.47, 0.48], "30": [1.4, 1.5]}, "rope": [{"24": 0.47, "30": 0.48}]}, "seeds": [0, 1, 2]}
"""

#%% right records not_text
records = None

#%% right sure_1 four
sure_1 = 4

#%% right recall written
recall = "1 learned and sinusoidal, 2 RoPE, 3 ALiBi"

#%% right again several
again_1 = again_2 = ["A", "B"]
