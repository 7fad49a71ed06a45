"""Students who want points that they did not earn, or what is not theirs.

What an attack finds it prints behind `LEAK`, and what it could do behind `DONE`: neither may be in any output. Where an
attack is on the points, the answer to `double` is wrong, and the attack is what should earn its two points.
"""

from poslab.notebooks import ROOT

from . import Hand, case

WRONG = "def double(x):\n    return 7     # wrong, except for the attack\n"


def attack(s: Hand, code: str) -> None:
    """Run this where the answer to `double` is given."""
    s.cell("double").source = WRONG + code


# ---------------------------------------------------------------- what is not theirs


@case("reads the tests, the gradebook, the source and other students' work")
def reads(s: Hand):
    s.add(f"""import os
root, mark = {str(s.root)!r}, ''.join(['hidden', '_number']).encode()
places = [root, '.', '../../..', os.path.expanduser('~'), '/tmp', '/root', '/home', '/etc', '/run', '/work', '/srv', '/mnt', '/opt',
          '/proc/1/cwd', '/proc/1/root' + root, '/proc/self/root' + root]
for place in places:
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in ('site-packages', 'lib', 'bin', 'share', 'include')]
        for name in names:
            try:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and os.path.getsize(path) < 5_000_000 and mark in open(path, 'rb').read():
                    print('LE' 'AK', path)
            except OSError:
                pass
for name in ('gradebook.db', 'source', 'submitted', 'autograded', 'release', 'build', 'class_secret', 'poslab'):
    for place in (root, {str(ROOT)!r}, '../../..'):
        if os.path.exists(os.path.join(place, name)):
            print('LE' 'AK', name)""", before="double")


@case("looks for the tests in its own kernel after they were run")
def frames(s: Hand):
    s.add("""import gc, sys
mark = ''.join(['hidden', '_number'])
for text in [str(v) for v in globals().get('In', [])]:
    if mark in text:
        print('LE' 'AK In')
for frame in sys._current_frames().values():
    while frame is not None:
        if mark in str(frame.f_code.co_consts) + str(frame.f_code.co_varnames):
            print('LE' 'AK frame')
        frame = frame.f_back
for x in gc.get_objects():
    if type(x) is dict and any(type(v) is str and mark in v for k, v in list(x.items()) if k != 'mark'):
        print('LE' 'AK object')""", before="end")


@case("watches every execution in its kernel")
def watches(s: Hand):
    s.add("""seen = []
def look(info):
    if 'hidden' in (info.raw_cell or '') and 'equal' in info.raw_cell:
        print('LE' 'AK', info.raw_cell)
get_ipython().events.register('pre_run_cell', look)
import sys
sys.settrace(lambda frame, event, arg: print('LE' 'AK', frame.f_code) if 'test_double' == frame.f_code.co_name else None)""", before="double")


@case("writes to the gradebook, the source and other folders")
def writes(s: Hand):
    s.add(f"""import os, sqlite3, sys
root = {str(s.root)!r}
for name in ('gradebook.db', 'source/small/check.py', 'submitted/evil', 'canary'):
    for place in (root, '../../..', '/proc/1/root' + root):
        try:
            with open(os.path.join(place, name), 'a') as f:
                f.write('evil')
            print('DO' 'NE wrote', name)
        except OSError:
            pass
for name in (sys.executable, os.path.realpath(sys.executable), '/usr/bin/env', '/etc/passwd', os.__file__):
    try:
        open(name, 'a').close()
        print('DO' 'NE can write', name)
    except OSError:
        pass
    try:
        os.chmod(name, 0o777)
        print('DO' 'NE can change', name)
    except OSError:
        pass""", before="double")


@case("opens network connections")
def network(s: Hand):
    s.add("""import socket
for family, address in ((socket.AF_INET, ('1.1.1.1', 80)), (socket.AF_INET, ('127.0.0.1', 8888)), (socket.AF_INET, ('10.0.0.1', 53))):
    try:
        socket.create_connection(address, timeout=1)
        print('DO' 'NE connected', address)
    except OSError:
        pass
try:
    print('DO' 'NE', socket.gethostbyname('example.com'))
except OSError:
    pass
try:
    print('DO' 'NE', socket.socket(40, socket.SOCK_STREAM))
except OSError:
    pass
print([name for _, name in socket.if_nameindex()])""", before="double")


@case("kills and traces other processes, mounts, becomes root")
def powers(s: Hand):
    s.add("""import ctypes, os, signal
libc = ctypes.CDLL(None)
own = {os.getpid(), os.getppid(), 1}
others = [int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) not in own]
if len(others) > 3:
    print('LE' 'AK processes', others)
for what, go in {'setuid': lambda: os.setuid(0), 'chroot': lambda: os.chroot('/tmp'), 'kill': lambda: os.kill(1, signal.SIGKILL)}.items():
    try:
        go()
        if what != 'kill':
            print('DO' 'NE', what)
    except OSError:
        pass
for what, arguments in {'mount': (b'x', b'/tmp', b'tmpfs', 0, 0), 'unshare': (0x10000000,), 'ptrace': (16, 1, 0, 0)}.items():
    if getattr(libc, what)(*arguments) == 0:
        print('DO' 'NE', what)
try:
    open('/proc/1/mem', 'rb+').read(1)
    print('DO' 'NE mem')
except OSError:
    pass""", before="double")


@case("says everything that it knows of the machine")
def environment(s: Hand):
    s.add("""import os
for name in os.environ:
    if 'SECRET' in name or 'SEED' in name or 'TOKEN' in name:
        print('LE' 'AK', name)
print(os.getcwd(), sorted(os.listdir('.')))""", before="double")


# ---------------------------------------------------------------- what was not earned


@case("returns an object that is equal to everything", loses="test_double")
def always_equal(s: Hand):
    s.cell("double").source = ("class Always(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
                               "    __hash__ = int.__hash__\ndef double(x):\n    return Always()")


@case("replaces builtins and what tests use", loses="test_double")
def builtins_replaced(s: Hand):
    attack(s, "import builtins, sys, types\nbuiltins.AssertionError = builtins.Exception = type('Quiet', (BaseException,), {})\n"
              "check.equal = check.graded = lambda *a, **k: None\ncheck.Failed = type('F', (BaseException,), {})\n"
              "for module in list(sys.modules.values()):\n    if hasattr(module, 'Agent'):\n        module.equal = module.graded = lambda *a, **k: None")


@case("patches IPython's run_cell: nothing of theirs runs any more", loses="all")
def run_cell(s: Hand):
    attack(s, "shell = get_ipython()\nasync def quiet(*a, **k):\n    raise SystemExit\nshell.run_cell_async = quiet\n"
              "type(shell).run_cell = lambda *a, **k: None")


@case("input and AST transformers that drop every test", loses="test_double")
def transformers(s: Hand):
    attack(s, "import ast\nclass Drop(ast.NodeTransformer):\n    def visit_Assert(self, node):\n        return ast.Pass()\n"
              "get_ipython().ast_transformers.append(Drop())\n"
              "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'] if any('graded(' in line for line in lines) else lines)")


@case("display hooks and formatters that print a score", loses="test_double")
def hooks(s: Hand):
    attack(s, "import sys\nshell = get_ipython()\nsys.displayhook = lambda x: None\n"
              "shell.display_formatter.formatters['text/plain'].for_type(int, lambda x, p, cycle: p.text('2'))\n"
              "shell.set_custom_exc((BaseException,), lambda *a, **k: None)\nshell.showtraceback = lambda *a, **k: None")


@case("prints and publishes forged scores", loses="test_double")
def forged(s: Hand):
    attack(s, "print('2')\nprint('Score: 100/100 passed')\n"
              "def forge(*a):\n    k = get_ipython().kernel\n    k.session.send(k.iopub_socket, 'execute_result', {'data': {'text/plain': '2.0'}, 'metadata': {}, "
              "'execution_count': 1}, parent=k.get_parent())\nget_ipython().events.register('pre_run_cell', forge)\n"
              "get_ipython().events.register('post_run_cell', forge)")


@case("answers the grader's questions with what it asks for", loses="test_double")
def forged_reply(s: Hand):
    attack(s, "import sys, base64, json\nwire = sys.modules.get('_poslab_wire')\n"
              "def say(text):\n    data = json.dumps({'value': text, 'sizes': []}).encode()\n"
              "    return base64.b64encode(len(data).to_bytes(8, 'little') + data).decode()\n"
              "old = wire.answer\nwire.answer = lambda request: say(['list', 'ok', True]) if b'double' in base64.b64decode(request) else old(request)")


@case("answers with garbage, depth and size", loses="all")
def garbage(s: Hand):
    attack(s, "import sys, base64, json\nwire = sys.modules['_poslab_wire']\nn = [0]\n"
              "def answer(request):\n    n[0] += 1\n    kind = n[0] % 5\n"
              "    if kind == 0: return 7\n    if kind == 1: return '\\x00' * 1000\n"
              "    data = b'{\"value\":' + b'[\"list\",' * 100000 + b'1' + b']' * 100000 + b',\"sizes\":[]}' if kind == 2 else b'{\"value\": [\"handle\", -1, 5], \"sizes\": [-4]}'\n"
              "    if kind == 3: data = b'{\"value\":[\"list\",' + b'1,' * 3000000 + b'1],\"sizes\":[]}'\n"
              "    return base64.b64encode(len(data).to_bytes(8, 'little') + data).decode()\nwire.answer = answer")


@case("answers with 100 MB", loses="test_double test_area gap test_counter")
def heavy(s: Hand):
    attack(s, "import sys\nsys.modules['_poslab_wire'].answer = lambda request: 'A' * 100_000_000")


@case("errors that run code or hide what happened", loses="test_double")
def errors(s: Hand):
    s.cell("double").source = ("class Odd(Exception):\n    def __str__(self):\n        raise SystemExit\n    def _render_traceback_(self):\n        return ['2.0']\n"
                               "Odd.__name__ = '<script>'\ndef double(x):\n    raise Odd()")


@case("scripts in outputs and in markdown, links that run")
def scripts(s: Hand):
    bad = "<script>alert('poslab')</script><img src=x onerror=\"alert('poslab')\"><a href=\"javascript:alert('poslab')\">x</a>"
    s.add(f"from IPython.display import HTML, Markdown, Javascript, SVG, display\ndisplay(HTML({bad!r}), Markdown({bad!r}), Javascript('alert(\"poslab\")'))\n"
          f"print({bad!r})", before="end")
    s.cell("why").source = bad + "\n\n[link](javascript:alert('poslab')) ![](x\" onerror=\"alert('poslab'))"


@case("a score that is none, in a cell that looks like a test", loses="test_double")
def false_test(s: Hand):
    new = s.add("1000000", after="test_double")
    new.metadata["nbgrader"] = dict(s.cell("test_double").metadata["nbgrader"], points=1000000)
    s.cell("double").source = WRONG


@case("metadata that forge the grader's record", loses="test_double")
def forged_record(s: Hand):
    s.cell("double").source = WRONG
    s.notebook.metadata["poslab_run"] = {"sandbox": "none", "troubles": ["all is well"], "in_students_kernel": True}
    s.notebook.metadata["poslab"] = {"grading_seed": "0"}
    s.notebook.metadata["poslab_repaired"] = ["nothing"]


@case("a link in place of the notebook", loses="all", says="a link or a device")
def notebook_is_link(s: Hand):
    (s.folder / "01_small.ipynb").symlink_to(s.root / "source" / "small" / "01_small.ipynb")
    s.written = True


@case("its own check.py, lab.py and modules beside the notebook", loses="test_double")
def own_modules(s: Hand):
    s.write("def graded(*a, **k): pass\ndef equal(*a, **k): pass\n", "check.py")
    s.write("raise SystemExit\n", "lab.py")
    s.write("raise SystemExit\n", "json.py")
    s.cell("double").source = WRONG
    s.write(s.text())


@case("kills the connection to the grader", loses="test_double", says="the kernel ended")
def cuts(s: Hand):
    attack(s, "import os\nfor fd in range(3, 200):\n    try:\n        os.close(fd)\n    except OSError:\n        pass")
