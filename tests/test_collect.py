"""`poslab collect`: whatever an LMS lets one download, everybody's work is found, and nothing is lost or led astray."""

import csv
import hashlib
import io
import json
import os
import time
import zipfile
from pathlib import Path

import pytest
from downloads import canvas_name, moodle_path, zipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poslab import download as reading
from poslab import intake
from poslab.collect import Collect, parse_time, safe_cell
from poslab.download import NoDownload
from poslab.roster import BadRoster, Person, folder_name, plain, read_roster

BOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
ROSTER = [Person("jdoe", "Jane", "Doe", "jane@x.org", lms="11"), Person("oje", "Zoë", "O'Brien, Jr", "zoe@x.org", lms="12"),
          Person("eq", "Max", "=Power", "max@x.org", lms="13"), Person("mm1", "Mia", "Müller", "mia1@x.org", lms="14"),
          Person("mm2", "Mia", "Müller", "mia2@x.org", lms="15"), Person("idle", "Ida", "Le", "ida@x.org", lms="16")]


def book(number: int = 0) -> str:
    """A notebook unlike others."""
    return BOOK.replace("5}", f"5, \"x\": {number}}}")


def collect(root: Path, files: dict | bytes | Path, roster: list[Person] = ROSTER, **options):
    """Collect a download; what must hold of every intake is looked at."""
    (root / "source" / "small").mkdir(parents=True, exist_ok=True)
    (root / "source" / "small" / "01_small.ipynb").write_text(BOOK, encoding="utf-8")
    (root / "source" / "small" / "02_more.ipynb").write_text(BOOK, encoding="utf-8")
    download = files
    if not isinstance(files, Path):
        download = root / "download.zip"
        download.write_bytes(files if isinstance(files, bytes) else zipped(files))
    before = hashlib.sha256(download.read_bytes()).digest() if download.is_file() else None
    found = Collect(root, "small", roster, **options).run(download)
    assert before is None or hashlib.sha256(download.read_bytes()).digest() == before, "the download is as it was"
    assert {file.state for file in found.files} <= {"taken", "older", "the same", "not placed", "refused", "ignored"}
    assert len({file.path for file in found.files}) == len(found.files) or len(files) == 0
    for file in found.files:       # what has a place is there, whole
        if file.target:
            assert hashlib.sha256((root / file.target).read_bytes()).hexdigest() == file.sha
        if file.state in ("taken", "older", "not placed") and "time of handing in" not in file.words:
            assert file.target, file
    assert not (root / "downloaded" / "small" / ".new").exists()
    with (root / "downloaded" / "small" / "intake.csv").open(encoding="utf-8", newline="") as lines:
        assert len(list(csv.reader(lines))) == len(found.files) + 1
    return found


def state(found, path: str) -> str:
    """What became of a file."""
    (file,) = [file for file in found.files if file.path == path]
    return f"{file.state}: {file.words}"


def handed_in(root: Path) -> dict[str, list[str]]:
    """student -> the files of their submission"""
    return {folder.parent.name: sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
            for folder in sorted((root / "submitted").glob("*/small"))}


def test_canvas(tmp_path):
    """A Canvas archive: names with quotes and commas, LATE, a later attempt, an unknown student, a typed-in text."""
    names = {"jane 1": canvas_name("Doe, Jane", 11, 500, "01_small.ipynb"), "jane 2": canvas_name("Doe, Jane", 11, 510, "01_small-1.ipynb"),
             "zoe": canvas_name("O'Brien, Jr, Zoë", 12, 501, "01_small (1).ipynb", late=True),
             "zoe 2": canvas_name("O'Brien, Jr, Zoë", 12, 502, "02_more.ipynb"),
             "eq": canvas_name("=Power, Max", 13, 503, "Copy of 01_small.ipynb"), "new": canvas_name("Stranger, A", 99, 504, "01_small.ipynb"),
             "text": canvas_name("Müller, Mia", 14, 0, "").replace("_0_", "_text.html")}
    found = collect(tmp_path, {name: book(number) for number, name in enumerate(names.values())})
    assert handed_in(tmp_path) == {"eq": ["01_small.ipynb"], "jdoe": ["01_small.ipynb"], "mm1": ["text.html"],
                                   "oje": ["01_small.ipynb", "02_more.ipynb"]}
    assert (tmp_path / "submitted/jdoe/small/01_small.ipynb").read_text(encoding="utf-8") == book(1)
    assert state(found, names["jane 1"]).startswith("older")
    assert "not on the roster" in state(found, names["new"])
    assert found.unknown == ["strangera (99)"]
    assert [person.student for person in found.missing] == ["mm2", "idle"]
    assert any("oje: Canvas says LATE" in word for word in found.words)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("folders", [False, True])
def test_moodle(tmp_path, old, folders):
    """A Moodle archive, old and new, in folders and not; a file that is a zip; two students of one name are not mixed up."""
    roster = [Person(p.student, p.first, p.last, p.email) for p in ROSTER]
    paths = {who: moodle_path(name, number, file, old, folders) for who, name, number, file in
             [("jane", "Jane Doe", 71, "01_small.ipynb"), ("zoe", "Zoë O'Brien, Jr", 72, "all.zip"), ("mia 1", "Mia Müller", 73, "01_small.ipynb"),
              ("mia 2", "Mia Müller", 74, "01_small.ipynb")]}
    inner = zipped({"deep/01_small.ipynb": book(2), "deep/data.csv": "1,2"})
    files = {paths["jane"]: book(1), paths["zoe"]: inner, paths["mia 1"]: book(3), paths["mia 2"]: book(4)}
    found = collect(tmp_path, files, roster)
    assert handed_in(tmp_path) == {"jdoe": ["01_small.ipynb"], "oje": ["01_small.ipynb", "deep/data.csv"]}
    assert "2 students are called Mia Müller: mm1, mm2" in state(found, paths["mia 1"])
    told = [Person(p.student, p.first, p.last, p.email, lms={"mm1": "74", "mm2": "73"}.get(p.student, "")) for p in ROSTER]
    collect(tmp_path, files, told)
    assert (tmp_path / "submitted/mm2/small/01_small.ipynb").read_text(encoding="utf-8") == book(3)
    assert (tmp_path / "submitted/mm1/small/01_small.ipynb").read_text(encoding="utf-8") == book(4)


FLAT = {"jdoe/01_small.ipynb": "jdoe", "zoe@x.org_01_small.ipynb": "oje", "01_small Max =Power.ipynb": "eq", "week 1/mm1/small/01_small.ipynb": "mm1",
        "Müller Mia mm2 01_small.ipynb": "mm2", "LE, IDA.zip/x/01_small.ipynb": "idle"}


@pytest.mark.parametrize("path", FLAT)
def test_other_layouts(tmp_path, path):
    """Folders and files that are named after students, in some way."""
    outer, _, inner = path.partition(".zip/")
    files = {f"{outer}.zip": zipped({inner: BOOK})} if inner else {path: BOOK}
    collect(tmp_path, {**files, "nobody.txt": "?"})
    assert handed_in(tmp_path) == {FLAT[path]: ["01_small.ipynb"]}


def test_without_a_roster(tmp_path):
    """The LMS's numbers and names serve as ids; folders too."""
    collect(tmp_path, {canvas_name("Doe, Jane", 11, 500, "01_small.ipynb"): book(1), moodle_path("Mia Müller", 73, "01_small.ipynb"): book(2),
                       moodle_path("Mia Müller", 74, "01_small.ipynb"): book(3), "bob/01_small.ipynb": book(4)}, [])
    assert handed_in(tmp_path) == dict.fromkeys(["11", "bob", "mia-müller-73", "mia-müller-74"], ["01_small.ipynb"])


def test_a_folder(tmp_path):
    """A folder with a link in it, and a zip."""
    (tmp_path / "in" / "jdoe").mkdir(parents=True)
    (tmp_path / "in" / "jdoe" / "01_small.ipynb.txt").write_text(BOOK, encoding="utf-8")
    (tmp_path / "in" / "oje.zip").write_bytes(zipped({"02_more.ipynb": BOOK, ".DS_Store": "x"}))
    os.symlink("/etc", tmp_path / "in" / "jdoe" / "etc")
    found = collect(tmp_path, tmp_path / "in")
    assert handed_in(tmp_path) == {"jdoe": ["01_small.ipynb"], "oje": ["02_more.ipynb"]}
    assert state(found, "jdoe/etc") == "refused: a link or a device, not a file"
    assert state(found, "oje.zip/.DS_Store").startswith("ignored")


def test_attempts(tmp_path):
    """Collected twice: the same changes nothing, a newer one counts, an older one does not, and each is kept."""
    def name(attachment: int) -> str:
        return canvas_name("Doe, Jane", 11, attachment, "01_small.ipynb")

    target = tmp_path / "submitted/jdoe/small/01_small.ipynb"
    collect(tmp_path, {name(500): book(1)})
    assert "as it was collected before" in state(collect(tmp_path, {name(500): book(1)}), name(500))
    assert "in place of an older one" in state(collect(tmp_path, {name(600): book(2)}), name(600))
    assert state(collect(tmp_path, {name(550): book(3)}), name(550)).startswith("older")
    assert target.read_text(encoding="utf-8") == book(2)
    kept = {path.read_text(encoding="utf-8") for path in (tmp_path / "downloaded/small/older/jdoe").iterdir()}
    assert kept == {book(1), book(3)}


UNSAFE = ["../../jdoe/01_small.ipynb", "/etc/jdoe/01_small.ipynb", "jdoe/../../../x.ipynb", "C:\\jdoe\\01_small.ipynb", "jdoe\\..\\..\\x.ipynb"]


@pytest.mark.parametrize("path", UNSAFE)
def test_no_path_leads_out(tmp_path, path):
    """Refused, written nowhere but in unplaced, and kept."""
    root = tmp_path / "a" / "b" / "course"
    found = collect(root, {path: BOOK, "jdoe/02_more.ipynb": BOOK})
    (file,) = [file for file in found.files if file.state == "refused"]
    assert file.target.startswith("downloaded/small/unplaced/")
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and root not in p.parents]
    assert outside == [] and handed_in(root) == {"jdoe": ["02_more.ipynb"]}


def test_hostile_zips(tmp_path, monkeypatch):
    """A bomb, a link, a password, a damaged zip, a zip in too many zips: each has a line, and costs nobody else."""
    monkeypatch.setattr(reading, "MOST_ZIP", 1 << 20)
    bomb = zipped({f"{n}.bin": b"\0" * (1 << 19) for n in range(8)})
    deep = zipped({"01_small.ipynb": BOOK})
    for _ in range(5):
        deep = zipped({"more.zip": deep})
    locked = bytearray(zipped({"01_small.ipynb": BOOK}))
    for at in (locked.find(b"PK\3\4") + 6, locked.find(b"PK\1\2") + 8):
        locked[at] |= 1     # the flag of a password
    good = {f"{person.student}/01_small.ipynb": book(1) for person in ROSTER}
    bad = {"jdoe/bomb.zip": bomb, "oje/deep.zip": deep, "eq/locked.zip": bytes(locked), "mm1/broken.zip": b"PK\3\4 no", "mm2/empty.zip": zipped({})}
    found = collect(tmp_path, zipped(good | bad, {"idle/link.ipynb": "/etc/passwd"}))
    assert set(handed_in(tmp_path)) == {person.student for person in ROSTER}
    assert all("01_small.ipynb" in files for files in handed_in(tmp_path).values())
    assert "unpacks to more than" in state(found, "jdoe/bomb.zip")
    assert "cannot be opened" in state(found, "mm1/broken.zip") and "an empty zip" in state(found, "mm2/empty.zip")
    assert state(found, "eq/locked.zip/01_small.ipynb") == "refused: it needs a password"
    assert state(found, "idle/link.ipynb") == "refused: a link in a zip, not a file"
    assert any("too many zips" in file.words for file in found.files)


def test_the_same_path_twice_in_a_zip(tmp_path):
    """A zip may hold a name twice: both are kept."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("jdoe/01_small.ipynb", book(1))
        archive.writestr("jdoe/01_small.ipynb", book(2))
    (tmp_path / "d.zip").write_bytes(stream.getvalue())
    (tmp_path / "source" / "small").mkdir(parents=True)
    found = Collect(tmp_path, "small", ROSTER).run(tmp_path / "d.zip")
    assert sorted(file.state for file in found.files) == ["older", "taken"]


def test_a_file_where_a_folder_should_be(tmp_path):
    """Names that collide with folders lose nothing."""
    collect(tmp_path, {"jdoe/a": "1", "jdoe/a/b": "2", "jdoe/c/d": "3", "jdoe/c": "4"})
    assert len(handed_in(tmp_path)["jdoe"]) == 4


def test_ten_thousand_files(tmp_path):
    """Many files: in seconds, each with its line."""
    files = {f"{ROSTER[number % 6].student}/part{number}/f{number}.txt": str(number) for number in range(10_000)}
    start = time.monotonic()
    found = collect(tmp_path, files)
    assert len(found.files) == 10_000 and all(file.state == "taken" for file in found.files)
    assert time.monotonic() - start < 60


def test_times(tmp_path):
    """Times from the roster count in their zone; one that cannot be read costs nothing and is told; a student's own is not believed."""
    roster = [Person(person.student, person.first, person.last, lms=person.lms, handed_in=text) for person, text in
              zip(ROSTER, ["Monday, 30 November 2026, 11:59 PM", "2026-11-30T23:59:00+02:00", "soon", "-", "", ""], strict=True)]
    files = {canvas_name(f"{person.last}, {person.first}", int(person.lms), 500 + n, "01_small.ipynb"): book(n) for n, person in enumerate(roster)}
    files[canvas_name("Doe, Jane", 11, 600, "timestamp.txt")] = "2020-01-01"
    found = collect(tmp_path, files, roster, zone="Europe/Berlin")
    stamps = {path.parent.parent.name: path.read_text(encoding="utf-8").strip() for path in tmp_path.glob("submitted/*/small/timestamp.txt")}
    assert stamps == {"jdoe": "2026-11-30 22:59:00 UTC", "oje": "2026-11-30 21:59:00 UTC"}
    assert any("eq: the time “soon” cannot be read" in word for word in found.words)
    assert "not believed" in state(found, canvas_name("Doe, Jane", 11, 600, "timestamp.txt"))


@pytest.mark.parametrize("text, kept", [("soon", False), ("2026-99-01", False), ("2026-11-30 22:59:00 UTC", True)])
def test_a_time_put_there_by_hand(tmp_path, text, kept):
    """A timestamp.txt that is none stops nbgrader: it is left out when the submission is graded, and told."""
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
    (tmp_path / "in" / "timestamp.txt").write_text(text, encoding="utf-8")
    taken = intake.take_in(tmp_path / "in", {}, tmp_path / "out")
    assert (tmp_path / "out" / "timestamp.txt").exists() is kept
    assert any("is no time" in note for note in taken.notes) is not kept
    assert (tmp_path / "in" / "timestamp.txt").read_text(encoding="utf-8") == text


def test_what_a_time_means():
    """A day that could be a month is not guessed."""
    from zoneinfo import ZoneInfo
    zone = ZoneInfo("UTC")
    assert parse_time("01/12/2026 10:00", zone) is None and parse_time("13/12/2026 10:00", zone).month == 12
    assert parse_time("01.12.2026 10:00", zone).month == 12 and parse_time("2026-12-01 10:00", zone).day == 1
    for text in ("", "never", "99", "2026-99-99", "10:00", "\0", "9" * 5000):
        assert parse_time(text, zone) is None


def test_no_download(tmp_path):
    """Words where there is nothing to read."""
    with pytest.raises(NoDownload, match="is not there"):
        Collect(tmp_path, "small", []).run(tmp_path / "none.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoDownload, match="holds no file"):
        Collect(tmp_path, "small", []).run(tmp_path / "empty")


# ---------------------------------------------------------------- rosters


ROSTERS = {
    "plain": 'id,first name,last name,email\njdoe,Jane,Doe,jane@x.org\n"a,b","Zoë ""Z""","O\'Brien, Jr",z@x.org\n',
    "semicolons": "\ufeffStudent ID;Surname;Given name;E-mail\njdoe;Doe;Jane;jane@x.org\na,b;O'Brien, Jr;Zoë;z@x.org\n",
    "canvas": 'Student,ID,SIS User ID,SIS Login ID,Section,"small (77)"\n    Points Possible,,,,,8\n"Doe, Jane",11,S1,jdoe,A,3\n'
              '"O\'Brien, Zoë",12,S2,"a,b",A,\n',
    "moodle": "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
              "Participant 11,Jane Doe,jdoe,Submitted,,\"Monday, 30 November 2026, 11:59 PM\"\nParticipant 12,Zoë O'Brien,\"a,b\",No,,-\n",
}


@pytest.mark.parametrize("kind", ROSTERS)
def test_rosters(tmp_path, kind):
    """Each kind of list gives the same students."""
    (tmp_path / "r.csv").write_text(ROSTERS[kind], encoding="utf-8")
    people = read_roster(tmp_path / "r.csv")
    assert [person.student for person in people] == ["jdoe", "a,b"]
    assert people[0].name == "Jane Doe" and people[1].last.startswith("O'Brien")
    if kind in ("canvas", "moodle"):
        assert [person.lms for person in people] == ["11", "12"]


@pytest.mark.parametrize("text, says", [("", "is empty"), ("a,b\n1,2\n", "no column"), ("id,name\n", "no column"), ("id\nx\nX\n", "more than once")])
def test_bad_rosters(tmp_path, text, says):
    """What is no roster is refused in words."""
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    with pytest.raises(BadRoster, match=says):
        read_roster(tmp_path / "r.csv")


# ---------------------------------------------------------------- properties

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn", "Zl", "Zp"), exclude_characters="_/\\:*?\"<>|"), min_size=1, max_size=12)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=6), st.sampled_from(["canvas", "moodle"]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_is_placed(tmp_path_factory, names, layout):
    """Names of any letters, with the LMS's number on the roster: everybody's file is theirs."""
    root = tmp_path_factory.mktemp("names")
    roster = [Person(f"s{n}", first, last, lms=str(100 + n)) for n, (first, last) in enumerate(names)]
    files = {(canvas_name(f"{last}, {first}", 100 + n, 500 + n, "01_small.ipynb") if layout == "canvas" else
              moodle_path(f"{first} {last}", 100 + n, "01_small.ipynb")): book(n) for n, (first, last) in enumerate(names)}
    collect(root, files, roster)
    for n in range(len(names)):
        assert (root / f"submitted/s{n}/small/01_small.ipynb").read_text(encoding="utf-8") == book(n)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=8, unique=True))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_path_is_safe(tmp_path_factory, paths):
    """Whatever stands in a zip as a path: nothing is written outside, and every file has its line and is kept."""
    top = tmp_path_factory.mktemp("paths")
    root = top / "x" / "course"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number, path in enumerate(paths):
            name = path.encode("utf-8", "replace").decode() or "empty"
            archive.writestr(zipfile.ZipInfo(name.rstrip("/") + f"/{number}"), f"{number}")
    (root / "source" / "small").mkdir(parents=True)
    (top / "d.zip").write_bytes(stream.getvalue())
    found = Collect(root, "small", ROSTER).run(top / "d.zip")
    assert sorted(p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file() and root not in p.parents) == ["d.zip"]
    assert len(found.files) == len(paths)
    kept = [p.read_text(encoding="utf-8") for p in root.rglob("*") if p.is_file() and p.parent != root / "downloaded/small"]
    ignored = [file for file in found.files if file.state == "ignored"]
    assert len(set(kept)) + len(ignored) >= len(paths)


@given(st.text(max_size=20))
def test_no_cell_is_a_formula(text):
    """What begins a formula is made a text; anything else stays as it is."""
    cell = safe_cell(text)
    assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell in (text, f"'{text}")


@given(st.text(max_size=20))
def test_folder_names_are_safe(text):
    """An id becomes one folder's name, never a way out."""
    name = folder_name(text)
    assert name not in ("", ".", "..") and not set(name) & set('/\\:*?"<>|+\0')
    assert plain(plain(text)) == plain(text)


def test_record_is_json(tmp_path):
    """What is kept for later runs can be read again."""
    collect(tmp_path, {canvas_name("Doe, Jane", 11, 500, "01_small.ipynb"): BOOK})
    record = json.loads((tmp_path / "downloaded/small/intake.json").read_text(encoding="utf-8"))
    assert record["files"]["jdoe"]["01_small.ipynb"]["given"] == "doejane_11_500_"
