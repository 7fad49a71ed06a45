"""What happens while it runs: no end, sudden ends, floods."""

from . import Hand, case


@case("an infinite loop in a cell of its own", says="")
def loop(s: Hand):
    s.add("while True:\n    pass", before="area")


@case("an infinite loop in an answer", loses="test_area", says="test_area: a test called your code")
def loop_in_answer(s: Hand):
    s.cell("area").source = "def area(r):\n    while r:\n        r = r + 1 if r < 10 else 5"


@case("a loop that swallows KeyboardInterrupt", says="did not stop when its time")
def stubborn(s: Hand):
    s.add("import time\nwhile True:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        print('no')", before="area")


@case("an answer that swallows KeyboardInterrupt", loses="test_double", says="had not come back")
def stubborn_answer(s: Hand):
    s.cell("double").source = ("import time\ndef double(x):\n    while x > 20:\n        try:\n            time.sleep(1)\n"
                               "        except BaseException:\n            pass\n    return 2 * x")


@case("os._exit in a cell", says="the kernel ended")
def os_exit(s: Hand):
    s.add("import os\nos._exit(3)", before="area")


@case("os._exit in an answer", loses="test_double", says="a test called your code, and the kernel ended")
def os_exit_in_answer(s: Hand):
    s.cell("double").source = "import os\ndef double(x):\n    if x == 21:\n        os._exit(0)\n    return 2 * x"


@case("killed in the last answer", loses="test_counter", says="the kernel ended")
def killed(s: Hand):
    s.cell("counter").source = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@case("a crash", says="the kernel ended", sandbox=True)
def crash(s: Hand):
    s.add("import ctypes\nctypes.string_at(0)", before="area")


@case("ends the kernel in every cell of its own", loses="gap test_counter", says="not run: its kernel had ended")
def deadly(s: Hand):
    for name in ("double", "area", "answer", "gap", "counter", "test_counter", "why"):
        s.add("import os; os._exit(1)", before=name)


@case("memory without end in one process", says="", sandbox=True)
def memory(s: Hand):
    s.add("hoard = []\nwhile True:\n    hoard.append(bytearray(50 << 20))", before="area")
    s.add("hoard = []", before="area")


@case("memory without end in many processes", says="of memory", sandbox=True)
def many_memories(s: Hand):
    s.add("import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        x = bytearray(150 << 20)\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)",
          before="area")


@case("30 GB at once", sandbox=True)
def giant(s: Hand):
    s.add("x = bytearray(30 << 30)", before="area")


@case("a fork bomb", sandbox=True)
def fork_bomb(s: Hand):
    s.add("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass", before="area")


@case("threads without end", sandbox=True)
def thread_bomb(s: Hand):
    s.add("import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()", before="area")


@case("a disk filled", sandbox=True)
def disk(s: Hand):
    s.add("n = 0\nwhile True:\n    with open(f'fill{n}', 'wb') as f:\n        f.write(bytes(8 << 20))\n    n += 1", before="area")


@case("20 MB printed")
def prints(s: Hand):
    s.add("for _ in range(200):\n    print('x' * 100_000)", before="area")


@case("prints without end", sandbox=True)
def prints_for_ever(s: Hand):
    s.add("while True:\n    print('y' * 10_000)", before="area")


@case("20 MB printed by an answer while it is tested")
def prints_in_answer(s: Hand):
    s.cell("double").source = "def double(x):\n    print('x' * 4_000_000)\n    return 2 * x"


@case("8 MB of HTML displayed")
def html(s: Hand):
    s.add("from IPython.display import HTML, display\ndisplay(HTML('<p>' + 'z' * 8_000_000 + '</p>'))", before="area")


@case("one message of 60 MB")
def giant_message(s: Hand):
    s.add("from IPython.display import HTML, display\ndisplay(HTML('<p>' + 'z' * 60_000_000 + '</p>'))", before="area")


@case("exit()")
def exits(s: Hand):
    s.add("exit()", before="area")


@case("sys.exit() in an answer", loses="test_double")
def sys_exit(s: Hand):
    s.cell("double").source = "import sys\ndef double(x):\n    sys.exit('bye')"


@case("input()")
def asks(s: Hand):
    s.add("name = input('Who are you? ')", before="area")


@case("a widget")
def widget(s: Hand):
    s.add("import ipywidgets\nipywidgets.IntSlider()", before="area")


@case("an Output widget that catches what is shown")
def output_widget(s: Hand):
    s.add("import ipywidgets\nout = ipywidgets.Output()\nwith out:\n    print('inside')\n    display(out)\nout.clear_output()\nwith out:\n    print('again')",
          before="area")


@case("sleeps for an hour")
def sleeps(s: Hand):
    s.add("import time\ntime.sleep(3600)", before="area")


@case("a thread left running")
def thread_left(s: Hand):
    s.add("import threading, time\ndef busy():\n    while True:\n        time.sleep(0.01)\nthreading.Thread(target=busy).start()", before="area")


@case("a process left running after the end", sandbox=True)
def process_left(s: Hand):
    s.add("import subprocess\nsubprocess.Popen(['sleep', '98765'], start_new_session=True)", before="area")


@case("a syntax error in one cell", loses="test_area")
def syntax_error(s: Hand):
    s.cell("area").source = "def area(r:\n    return 3"


@case("recursion without end in an answer", loses="test_area")
def recursion(s: Hand):
    s.cell("area").source = "def area(r):\n    return area(r + 1)"


@case("a NUL byte and lone surrogates in a cell")
def strange_text(s: Hand):
    s.add("print('\\ud800')", before="area")
    s.add("# nul: \x00", before="area")


@case("warnings, prints and progress on stdout and stderr everywhere")
def chatty(s: Hand):
    chat = "import sys, warnings\nwarnings.warn('careful')\nprint('working', file=sys.stderr)\n"
    s.cell("double").source = chat + "def double(x):\n    print('hm', file=sys.stderr)\n    warnings.warn('x')\n    return 2 * x"
    s.cell("area").source = chat + s.cell("area").source


@case("%reset and its own display", says="")
def resets(s: Hand):
    s.add("%reset -f", before="double")
    s.cell("area").source = "import math\n" + s.cell("area").source
    s.cell("double").source = "SCALE = 2\ndisplay = print\n" + s.cell("double").source


@case("nan, infinity and words where numbers are asked", loses="test_double test_area")
def no_numbers(s: Hand):
    s.cell("double").source = "def double(x):\n    return float('nan')"
    s.cell("area").source = "def area(r):\n    return 'infinite'"
