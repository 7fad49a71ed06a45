"""`poslab collect`: what an LMS lets you download, into submitted/STUDENT/ASSIGNMENT.

A download is a Canvas archive, a Moodle archive, a folder, a zip of files, or zips in any of these. Each file in it
ends in exactly one line of the intake report, and nothing is lost: older attempts go to downloaded/ASSIGNMENT/older,
what belongs to nobody to downloaded/ASSIGNMENT/unplaced. Names of files are only names: what is written where is
decided here.

The layouts, as the two programs' own source code writes them (canvas-lms: lib/content_zipper.rb, `get_filename`;
moodle: mod/assign/classes/downloader.php, `get_student_prefix` and `load_submissionplugin_filelist`):

    doejane_LATE_4711_90210_01_small.ipynb                          Canvas: name, LATE where it is, user, attachment, file
    Jane Doe_4711_assignsubmission_file/01_small.ipynb              Moodle from 4.1; before it the folder ends in _
    Jane Doe_4711_assignsubmission_file_01_small.ipynb              Moodle, not in folders

The dates in such an archive are those of the download, so they are no times of handing in: a time comes from the
roster's column (Moodle's grading worksheet has it), from nbgrader's timestamp.txt, or from `poslab late`.
"""

import csv
import hashlib
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import dateutil.parser
from rich.console import Console
from rich.table import Table

from .download import JUNK, File, NoDownload, parts_of, read_download, unsafe
from .intake import bare
from .notebooks import notebooks
from .roster import Person, folder_name, plain, read_roster, split_name

CANVAS = re.compile(r"(?P<name>\w*?)(?P<late>_LATE)?_(?P<user>\d+)_(?:(?P<number>\d+)_(?P<file>.+)|(?P<page>(?:text|link)\.html))", re.S)
ANONYMOUS = re.compile(r"(?P<late>LATE_)?anon_(?P<user>\w+?)_(?P<number>\d+)_(?P<file>.+)", re.S)
MOODLE = re.compile(r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)", re.S)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_cell(value) -> str:
    """A text as a spreadsheet takes it for a text, and for no formula (OWASP: CSV injection)."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.lstrip(" \0").startswith(FORMULA) or text.startswith(FORMULA) else text


@dataclass
class Intake:
    """What a download held."""

    files: list[File]
    missing: list[Person] = field(default_factory=list)     # on the roster, and nothing is there of them
    unknown: list[str] = field(default_factory=list)        # handed in, and not on the roster
    words: list[str] = field(default_factory=list)          # what else a person should know


# ---------------------------------------------------------------- whose is it?


class Who:
    """Finds the student to a file."""

    def __init__(self, roster: list[Person], stems: list[str], assignment: str, files: list[File]):
        self.roster, self.assignment = roster, assignment
        self.stems = [stem.casefold() for stem in stems]
        self.ids, self.names, self.numbers = defaultdict(dict), defaultdict(dict), {}
        for person in roster:
            for key in {person.student, person.login, person.email, person.sis} - {""}:
                self.ids[key.casefold()][person.student] = person
            for name in {plain(person.first + person.last), plain(person.last + person.first)} - {""}:
                self.names[name][person.student] = person
            if person.lms:
                self.numbers[person.lms] = person
        users = {found["user"] for file in files for part in parts_of(file.path) if (found := MOODLE.fullmatch(part) or CANVAS.fullmatch(part))}
        self.trusted = bool(users & self.numbers.keys())    # a worksheet of another assignment has other numbers
        tops = {parts_of(file.path)[0] for file in files if len(parts_of(file.path)) > 1}
        self.top = tops.pop() if len(tops) == 1 and all(len(parts_of(file.path)) > 1 for file in files) else ""
        self.slugs = defaultdict(set)
        for file in files:
            for part in parts_of(file.path):
                if found := MOODLE.fullmatch(part):
                    self.slugs[self.slug(found["name"])].add(found["user"])

    @staticmethod
    def slug(name: str) -> str:
        """A name as an id."""
        return folder_name(re.sub(r"\s+", "-", name.strip().casefold()))

    def find(self, file: File) -> Person | None:
        """The student, with what the path says of the file; None, with words, where it is nobody's."""
        parts = parts_of(file.path)
        for at, part in enumerate(parts):
            moodle, canvas, hidden = MOODLE.fullmatch(part), CANVAS.fullmatch(part), ANONYMOUS.fullmatch(part)
            if hidden:
                file.words = "Canvas has made this anonymous: show the names in Canvas and download again"
                return None
            if moodle or canvas:
                found = moodle or canvas
                person = self.of_lms(found["name"], found["user"], file, "moodle" if moodle else "canvas")
                if person or not self.elsewhere(parts):
                    rest = "" if moodle and not found["file"] else found["file"] or found["page"]
                    file.layout, file.given = ("moodle", part.removesuffix(found["file"])) if moodle else ("canvas", part[: found.start("file")])
                    if moodle and not moodle["file"]:
                        file.given = part
                    if canvas:
                        file.number, file.late = int(found["number"] or 0), bool(found["late"])
                    file.name = "/".join(self.after([rest] * bool(rest) + parts[at + 1:])) or part
                    return person
        file.words = ""
        return self.of_path(parts, file)

    def elsewhere(self, parts: list[str]) -> bool:
        """Does another part of the path name somebody on the roster?"""
        return any(self.ids.get(part.casefold()) for part in parts)

    def of_lms(self, name: str, number: str, file: File, layout: str) -> Person | None:
        """The student that an LMS's name and number mean."""
        if not self.roster:
            if layout == "canvas":
                return Person(number, "", name, lms=number)
            slug = self.slug(name)
            return Person(slug if len(self.slugs[slug]) == 1 else f"{slug}-{number}", *split_name(name), lms=number)
        if number in self.numbers and self.trusted:
            return self.numbers[number]
        named = self.names.get(plain(name), {}).values()
        if layout == "canvas":
            named = named or (self.ids.get(number) or self.ids.get(name.casefold()) or {}).values()
        fitting = [person for person in named if not (person.lms and self.trusted)]
        if len(fitting) == 1:
            return fitting[0]
        who = f"{name.strip() or 'somebody'} ({number})"
        if len(fitting) > 1:
            file.words = (f"{len(fitting)} students are called {name.strip()}: {', '.join(sorted(person.student for person in fitting))}. "
                          f"Put the LMS's number ({number}) into the roster's column `lms id`, and collect again")
        else:
            file.words = f"{who} is not on the roster"
        return None

    def of_path(self, parts: list[str], file: File) -> Person | None:
        """The student that a folder's or a file's name means."""
        for at, part in enumerate(parts):
            last = at == len(parts) - 1
            stem = re.sub(r"(\.ipynb|\.json|\.txt|\.html?)+$", "", part, flags=re.I) if last else re.sub(r"\.zip$", "", part, flags=re.I)
            found, words = self.named(stem)
            if len(found) == 1:
                file.name = self.without(part, words) if last else "/".join(self.after(parts[at + 1:]))
                return next(iter(found.values()))
            if found:
                file.words = f"{' and '.join(sorted(found))} can be meant"
        if not self.roster:
            start = 1 if self.top and parts[:1] == [self.top] and len(parts) > 2 else 0
            if self.assignment in parts[1:-1]:
                start = parts.index(self.assignment, 1) - 1
            if len(parts) > start + 1:
                file.name = "/".join(self.after(parts[start + 1:]))
                return Person(folder_name(re.sub(r"\.zip$", "", parts[start], flags=re.I)))
            file.words = file.words or "no folder says whose it is; give a roster with --roster"
        file.name = file.name or (parts or ["file"])[-1]
        file.words = file.words or "nobody on the roster is named in its path"
        return None

    def after(self, parts: list[str]) -> list[str]:
        """The rest of a path without the assignment's folder, and without the zips that it was in."""
        parts = [part for part in parts[:-1] if not part.lower().endswith(".zip")] + parts[-1:]
        return parts[1:] if len(parts) > 1 and parts[0] == self.assignment else parts

    def named(self, text: str) -> tuple[dict[str, Person], str]:
        """Who is named in a text, by the whole of it or by some words in it. -> students by their ids, the words"""
        exact = self.ids.get(text.casefold()) or self.names.get(plain(text))
        if exact:
            return exact, text
        rest = text.casefold()
        for name in self.stems:
            rest = rest.replace(name, "\n" * len(name))     # an id `01` is not meant by 01_small
        words, hits = [found.span() for found in re.finditer(r"[^\W_]+", rest)], []
        for first in range(len(words)):
            for last in range(first, min(first + 6, len(words))):
                start, end = words[first][0], words[last][1]
                span = rest[start:end]
                if "\n" not in span and len(span) > 2:
                    hit = self.ids.get(span) or (self.names.get(plain(span)) if len(span) > 4 else None)
                    hits += [(hit, start, end)] if hit else []
        whole = [hit for hit in hits if not any(other != hit and other[1] <= hit[1] and hit[2] <= other[2] for other in hits)]
        sure = [hit for hit in whole if len(hit[0]) == 1] or whole
        students = {student: person for hit, _, _ in sure for student, person in hit.items()}
        return students, rest[sure[0][1]:sure[0][2]] if sure else ""

    def without(self, part: str, who: str) -> str:
        """A file's name without the student's."""
        at = part.casefold().find(who.casefold())
        rest = (part[:at] + part[at + len(who):]) if at >= 0 else part
        rest = re.sub(r"^[\s_.-]+|[\s_-]+(?=\.\w+$)", "", rest)
        return rest if re.fullmatch(r".*\w.*\.\w+", rest) else part


# ---------------------------------------------------------------- when


def parse_time(text: str, zone: ZoneInfo) -> datetime | None:
    """A time as an LMS or a person writes it, in UTC; None where it cannot be known what is meant."""
    text = text.strip()
    numeric = re.match(r"(\d{1,2})([/.-])(\d{1,2})\2\d{4}", text)
    if numeric and numeric[2] != "." and int(numeric[1]) <= 12 and int(numeric[3]) <= 12 and numeric[1] != numeric[3]:
        return None         # day or month first?
    try:
        if not re.search(r"\d{4}", text) or not re.search(r"\d", text):
            return None
        when = dateutil.parser.parse(text, dayfirst=bool(numeric), tzinfos={"UTC": 0, "GMT": 0})
        return (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError, TypeError, AttributeError):
        return None


def stamp(when: datetime) -> str:
    """A time as nbgrader keeps it in timestamp.txt."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


# ---------------------------------------------------------------- the whole


class Collect:
    """One run over a download."""

    def __init__(self, root: Path, assignment: str, roster: list[Person], zone: str = "UTC", dates: bool = False):
        self.root, self.assignment, self.roster, self.dates = Path(root), assignment, roster, dates
        self.zone = ZoneInfo(zone)
        self.kept = self.root / "downloaded" / assignment
        self.stems = sorted({path.stem for folder in ("source", "release") for path in notebooks(self.root / folder / assignment)})
        self.before = read_record(self.root, assignment)

    def submitted(self, student: str) -> Path:
        """A student's folder."""
        return self.root / "submitted" / student / self.assignment

    def run(self, download: Path) -> Intake:
        """Take in a download."""
        files = read_download(download, self.kept / ".new")
        try:
            intake = self.sort(files)
            self.write(intake, str(download))
        finally:
            shutil.rmtree(self.kept / ".new", ignore_errors=True)
        return intake

    def sort(self, files: list[File]) -> Intake:
        """Decide for each file whose it is and what becomes of it, and put it there."""
        who, intake = Who(self.roster, self.stems, self.assignment, files), Intake(files)
        whose, stamps = defaultdict(list), {}
        for file in files:
            parts = parts_of(file.path)
            if any(JUNK.fullmatch(part) for part in parts):
                file.state, file.words = "ignored", file.words or "of the system, no work of a student"
            elif unsafe(file.path):
                file.state, file.words = "refused", "its path leads out of the archive; kept under a safe name"
                self.keep(file, "unplaced")
            elif file.staged:
                trouble, file.words = file.words, ""
                person = who.find(file)
                file.words = "; ".join(filter(None, [trouble, file.words]))
                if person is None:
                    file.state = "not placed"
                    self.keep(file, "unplaced")
                    if "not on the roster" in file.words:
                        intake.unknown.append(file.words.removesuffix(" is not on the roster").rsplit("; ", 1)[-1])
                    continue
                file.student = person.student
                if Path(file.name).name == "timestamp.txt":
                    self.timestamp(file, stamps)
                else:
                    whose[person.student].append(file)
            elif not file.words:
                file.state, file.words = "refused", "it could not be read"
        intake.unknown = sorted(set(intake.unknown))
        for student, theirs in sorted(whose.items()):
            self.place(student, theirs)
        self.times(whose, stamps, intake)
        intake.missing = [person for person in self.roster if not self.submitted(person.student).is_dir()]
        return intake

    def timestamp(self, file: File, stamps: dict) -> None:
        """nbgrader's own timestamp.txt; one that came through an LMS was written by the student."""
        if file.layout or ".zip/" in file.path.lower():
            file.state, file.words = "older", "a timestamp.txt that a student handed in is not believed"
            self.keep(file, "older", file.student)
        else:
            stamps[file.student] = Path(file.staged).read_text(encoding="utf-8", errors="replace").strip()[:80]
            file.state, file.words = "taken", f"the time of handing in: {stamps[file.student]}"

    def key(self, file: File) -> str:
        """What a file is, whatever was put around its name: an attempt at the same thing has the same key."""
        name = Path(file.name).name
        known = {stem.casefold(): stem for stem in self.stems}
        if bare(name) in known and re.search(r"\.(ipynb|json|txt|html?)_?$|^[^.]*$", name, re.I):
            return f"{known[bare(name)]}.ipynb"
        within = [stem for low, stem in known.items() if low in name.casefold()]
        if len(within) == 1 and name.lower().endswith(".ipynb"):
            return f"{within[0]}.ipynb"
        parts = [folder_name(part)[:120] for part in parts_of(file.name)] or ["file"]
        return "/".join(parts)

    def place(self, student: str, files: list[File]) -> None:
        """Put the newest of each file into the student's folder, and keep the others."""
        folder, attempts = self.submitted(student), defaultdict(list)
        if folder.is_symlink():
            raise NoDownload(f"{folder} is a link; take it away.")
        for file in files:
            attempts[self.key(file)].append(file)
        known = self.before.get("files", {}).get(student, {})
        for key, these in sorted(attempts.items()):
            these.sort(key=lambda file: file.rank)
            target, newest = folder / key, these.pop()
            for file in these:
                self.older(file, newest)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError:     # a file is where a folder should be
                target = folder / f"{newest.sha[:8]}_{Path(key).name}"
            if target.is_dir():
                target = folder / f"{newest.sha[:8]}_{target.name}"
            if target.is_file():
                with target.open("rb") as stream:
                    same = hashlib.file_digest(stream, "sha256").hexdigest() == newest.sha
                if same:
                    newest.state, newest.words = "taken", "as it was collected before"
                    newest.target = self.shown(target)
                    continue
                old = File(**known[key]) if key in known else None
                if old and old.rank > newest.rank:
                    self.older(newest, old)
                    continue
                away = self.unique("older", student, Path(key).name, old.sha if old else "before")
                target.rename(away)
                newest.words = "; ".join(filter(None, [newest.words, f"in place of an older one, now {self.shown(away)}"]))
            shutil.move(newest.staged, target)
            newest.state, newest.target = "taken", self.shown(target)
            if Path(newest.name).name != Path(key).name:
                newest.words = "; ".join(filter(None, [f"it was called {newest.name}", newest.words]))

    def older(self, file: File, newest: File) -> None:
        """Keep an attempt that does not count."""
        if file.sha == newest.sha:
            file.state, file.words = "the same", f"the same as {newest.path}"
            return
        file.state, file.words = "older", f"{newest.path} is newer and counts"
        self.keep(file, "older", file.student)

    def keep(self, file: File, what: str, student: str = "") -> None:
        """Move a file to where nothing is graded and nothing is lost."""
        if not file.staged:
            return
        name = "_".join(folder_name(part) for part in parts_of(file.path) if part != "..")[-120:] or "file"
        target = self.unique(what, student, Path(name).name, file.sha)
        shutil.move(file.staged, target)
        file.target = self.shown(target)

    def unique(self, what: str, student: str, name: str, sha: str) -> Path:
        """A path in downloaded/ that overwrites nothing but its like."""
        folder = self.kept / what / student
        folder.mkdir(parents=True, exist_ok=True)
        target, number = folder / f"{sha[:8]}_{name}", 1
        while sha == "before" and target.exists():
            number += 1
            target = folder / f"before{number}_{name}"
        return target

    def shown(self, path: Path) -> str:
        """A path as it is told."""
        return path.relative_to(self.root).as_posix()

    def times(self, whose: dict, stamps: dict, intake: Intake) -> None:
        """Write timestamp.txt where a time is known, and say where it is not."""
        given = {person.student: person.handed_in for person in self.roster if person.handed_in not in ("", "-")} | stamps
        for student, files in whose.items():
            if not self.submitted(student).is_dir():
                continue
            text = given.get(student, "")
            when = parse_time(text, self.zone) if text else None
            if not when and self.dates and not text:
                newest = max((file.date for file in files if file.state == "taken"), default=0)
                when = datetime.fromtimestamp(newest, UTC).replace(tzinfo=self.zone).astimezone(UTC) if newest else None
            if when:
                (self.submitted(student) / "timestamp.txt").write_text(stamp(when) + "\n", encoding="utf-8")
            elif text:
                intake.words.append(f"{student}: the time “{text}” cannot be read, so no lateness is known. Give it with "
                                    f"poslab late --handed-in '{student}=2026-11-30 23:59'")
            elif any(file.late for file in files):
                intake.words.append(f"{student}: Canvas says LATE, but not by how much. Give the time with "
                                    f"poslab late --handed-in '{student}=2026-11-30 23:59'")

    def write(self, intake: Intake, download: str) -> None:
        """Keep the record for later runs, and the report as a CSV file."""
        files = self.before.get("files", {})
        for file in intake.files:
            if file.state == "taken" and file.target:
                files.setdefault(file.student, {})[self.key(file)] = asdict(file) | {"staged": ""}
        record = {"download": download, "files": files, "missing": [person.student for person in intake.missing], "unknown": intake.unknown,
                  "words": intake.words, "lines": [asdict(file) | {"staged": ""} for file in intake.files]}
        scratch = self.kept / "intake.new"
        scratch.write_text(json.dumps(record, ensure_ascii=False, indent=1, default=str), encoding="utf-8", errors="backslashreplace")
        os.replace(scratch, self.kept / "intake.json")
        with (self.kept / "intake.csv").open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
            table = csv.writer(out)
            table.writerow(["file", "student", "state", "what happened", "where it is now", "bytes"])
            for file in intake.files:
                table.writerow([*map(safe_cell, (file.path, file.student, file.state, file.words, file.target)), file.size])


def read_record(root: Path, assignment: str) -> dict:
    """What earlier runs of `poslab collect` found; empty where there was none."""
    try:
        return json.loads((Path(root) / "downloaded" / assignment / "intake.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def know(root: Path, roster: list[Person]) -> None:
    """Put the roster into the gradebook, so that who hands in nothing is seen."""
    from nbgrader.api import Student

    from .course import Course

    with Course(root).gradebook() as gradebook:
        there = {student.id: student for student in gradebook.students}
        for person in roster:
            row = there.get(person.student)
            if row is None:
                row = Student(id=person.student)
                gradebook.db.add(row)
            row.first_name, row.last_name = person.first or row.first_name, person.last or row.last_name
            row.email, row.lms_user_id = person.email or row.email, person.lms or row.lms_user_id
        gradebook.db.commit()


def table(intake: Intake, assignment: str, root: Path, most: int = 40) -> Table:
    """The lines of which a person should know."""
    counts = Counter(file.state for file in intake.files)
    view = Table(title=f"{assignment}: {len(intake.files)} files", title_justify="left", caption_justify="left",
                 caption=", ".join(f"{count} {state}" for state, count in counts.most_common()))
    for name in ("file", "student", "state", "what happened"):
        view.add_column(name, overflow="fold")
    telling = [file for file in intake.files if file.state != "taken" or file.words]
    for file in sorted(telling, key=lambda file: (file.state not in ("not placed", "refused"), file.path))[:most]:
        view.add_row(*(text.replace("[", "\\[") for text in (file.path, file.student or "?", file.state, file.words)))
    if len(telling) > most:
        view.add_row(f"… {len(telling) - most} more", "", "", f"in {(root / 'downloaded' / assignment / 'intake.csv').relative_to(root)}")
    return view


def run(console: Console, root: Path, assignment: str, download: Path, roster: Path | None, zone: str, dates: bool) -> int:
    """Collect and show. -> the exit status: 1 where a file has no place or somebody is not known"""
    saved = root / "downloaded" / "roster.csv"
    if roster is None and saved.exists():
        roster = saved
    people = read_roster(roster) if roster else []
    intake = Collect(root, assignment, people, zone, dates).run(download)
    if roster and roster != saved:
        saved.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(roster, saved)
    know(root, people)
    console.print(table(intake, assignment, root))
    placed = {file.student for file in intake.files if file.state == "taken"}
    console.print(f"{len(placed)} students handed in; roster: {len(people) or 'none given'}.", soft_wrap=True)
    missing = [f"{person.student} ({person.name})" for person in intake.missing]
    for title, names in (("Nothing there of", missing), ("Not on the roster", intake.unknown)):
        if names:
            console.print(f"{title} ({len(names)}): {', '.join(names)}", markup=False, soft_wrap=True)
    for word in intake.words:
        console.print(word, markup=False, soft_wrap=True)
    console.print(f"Every file has its line in {(root / 'downloaded' / assignment / 'intake.csv').relative_to(root)}", soft_wrap=True)
    return 1 if intake.unknown or any(file.state in ("not placed", "refused") for file in intake.files) else 0
