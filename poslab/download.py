"""Reading what was downloaded: a folder, a zip, zips in either, file by file, and no file is trusted.

Names are only names here: every file is copied under a number into a folder of our own. What is too large, a link, or
damaged has a line that says so.
"""

import hashlib
import re
import shutil
import stat
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

MOST_FILE = 300 << 20       # bytes of one file
MOST_ZIP = 300 << 20        # bytes of all files in a zip inside the download: one student's bomb costs nobody else
MOST_IN_ZIP = 2000          # files in it
MOST_DEPTH = 3              # zips in zips
SPARE = 1 << 30             # bytes that must stay free on the disk

JUNK = re.compile(r"__MACOSX|\.ipynb_checkpoints|__pycache__|\.DS_Store|Thumbs\.db|desktop\.ini|\._.*", re.I)


class NoDownload(Exception):
    """The download cannot be read; the message says why."""


@dataclass
class File:
    """A file that came, and what became of it: a line of the intake report."""

    path: str                   # in the download; parts of a zip after its name
    student: str = ""
    name: str = ""              # as the student had called it
    state: str = ""             # taken, older, the same, not placed, refused, ignored
    words: str = ""
    target: str = ""            # where it is now, in the course's folder
    layout: str = ""            # canvas, moodle; empty: neither
    given: str = ""             # what the LMS put in front of the name: what it knows feedback by
    number: int = 0             # Canvas's attachment: a later attempt has a greater one
    date: float = 0             # the file's own, seconds
    late: bool = False          # the LMS says so
    sha: str = ""
    size: int = 0
    staged: str = ""

    @property
    def rank(self) -> tuple:
        """What is newer is greater."""
        copies = re.findall(r"(?:\((\d+)\)|-(\d+))(?=\.\w+$)", self.name)
        return self.number, self.date, max((int(a or b) for a, b in copies), default=0)


def zip_name(info: zipfile.ZipInfo) -> str:
    """A name in a zip: programs that do not mark UTF-8 write it all the same."""
    if not info.flag_bits & 0x800:
        try:
            return info.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return info.filename


def zip_date(info: zipfile.ZipInfo) -> float:
    """A member's date in seconds; it has no time zone, so it only serves to compare."""
    try:
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0


class Stage:
    """Reads a download file by file into a folder of numbered files."""

    def __init__(self, folder: Path):
        self.folder, self.files, self.copies = folder, [], 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def add(self, path: str, date: float = 0, state: str = "", words: str = "") -> File:
        """A line for a file."""
        self.files.append(File(path, date=date, state=state, words=words))
        return self.files[-1]

    def copy(self, stream, file: File, most: int = MOST_FILE) -> bool:
        """Copy a file's bytes; False, and words, where there are too many."""
        self.copies += 1
        target, total = self.folder / str(self.copies), hashlib.sha256()
        if shutil.disk_usage(self.folder).free < SPARE:
            file.state, file.words = "refused", "the disk is full; make room and collect again"
            return False
        with target.open("wb") as out:
            while chunk := stream.read(1 << 20):
                file.size += len(chunk)
                if file.size > most:
                    file.state, file.words = "refused", f"more than {most >> 20} MB; left in the download"
                    break
                total.update(chunk)
                out.write(chunk)
        if file.state:
            target.unlink()
            return False
        file.staged, file.sha = str(target), total.hexdigest()
        return True

    def folder_of(self, folder: Path) -> None:
        """Everything in a folder; links are not followed."""
        for path in sorted(folder.rglob("*")):
            info, name = path.lstat(), path.relative_to(folder).as_posix()
            if stat.S_ISDIR(info.st_mode):
                continue
            if not stat.S_ISREG(info.st_mode):
                self.add(name, info.st_mtime, "refused", "a link or a device, not a file")
            else:
                self.one(path, name, info.st_mtime, 0)

    def one(self, path: Path, name: str, date: float, depth: int) -> None:
        """A plain file: a zip is opened, anything else is taken as it is."""
        if path.suffix.lower() == ".zip" and not JUNK.fullmatch(path.name):
            self.zip_of(path, name, date, depth)
            return
        file = self.add(name, date)
        try:
            with path.open("rb") as stream:
                self.copy(stream, file)
        except OSError as error:
            file.state, file.words = "refused", f"cannot be read ({error.strerror or error})"

    def zip_of(self, path: Path, name: str, date: float, depth: int, inside: bool | None = None) -> None:
        """Everything in a zip; the zip itself has a line only where it cannot be taken apart."""
        inside = depth > 0 if inside is None else inside
        room, done, trouble = MOST_ZIP, 0, ""
        try:
            with zipfile.ZipFile(path) as archive:
                members = [info for info in archive.infolist() if not info.filename.endswith("/")]     # is_dir() stumbles over an empty name
                trouble = "" if members else "an empty zip"
                if inside and len(members) > MOST_IN_ZIP:
                    members, trouble = [], f"{len(members)} files in it; a submission's zip may have {MOST_IN_ZIP}"
                for info in members:
                    inner = f"{name}/{zip_name(info)}"
                    if stat.S_ISLNK(info.external_attr >> 16):
                        self.add(inner, state="refused", words="a link in a zip, not a file")
                        continue
                    file = self.add(inner, zip_date(info))
                    try:
                        with archive.open(info) as stream:
                            taken = self.copy(stream, file, min(MOST_FILE, room) if inside else MOST_FILE)
                    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, ValueError, zlib.error) as error:
                        password = "password" in str(error)
                        file.state, file.words = "refused", "it needs a password" if password else f"damaged ({type(error).__name__})"
                        continue
                    room, done = room - file.size, done + 1
                    if not taken and inside:
                        file.words, trouble = "more than a submission's zip may unpack to", f"it unpacks to more than {MOST_ZIP >> 20} MB"
                        break
                    if taken and info.filename.lower().endswith(".zip"):
                        if depth + 1 >= MOST_DEPTH:
                            file.words = "a zip in too many zips; not opened"
                        else:
                            self.files.remove(file)
                            self.zip_of(Path(file.staged), inner, file.date, depth + 1, True)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            trouble = f"a zip that cannot be opened ({type(error).__name__})"
        if trouble:     # the zip itself is kept, whole
            file = self.add(name, date, words=trouble)
            self.copies += 1
            target = self.folder / str(self.copies)
            shutil.copyfile(path, target)
            file.size, file.staged = target.stat().st_size, str(target)
            with target.open("rb") as stream:
                file.sha = hashlib.file_digest(stream, "sha256").hexdigest()


def read_download(download: Path, folder: Path) -> list[File]:
    """All files of a download, each with a copy in `folder` unless it was refused. Raises NoDownload."""
    download, stage = Path(download), Stage(folder)
    if not download.exists():
        raise NoDownload(f"{download} is not there.")
    if download.is_dir():
        stage.folder_of(download)
    elif zipfile.is_zipfile(download):
        stage.zip_of(download, download.name, download.stat().st_mtime, 0, inside=False)
        for file in stage.files:    # the archive's own name says nothing
            file.path = file.path.removeprefix(f"{download.name}/")
    else:
        stage.one(download, download.name, download.stat().st_mtime, 1)
    if not stage.files:
        raise NoDownload(f"{download} holds no file.")
    return stage.files


def parts_of(path: str) -> list[str]:
    """A path's parts, whatever the slash."""
    return [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]


def unsafe(path: str) -> bool:
    """Does a path lead out of where it is unpacked?"""
    return ".." in parts_of(path) or bool(re.search(r"(^|/)([/\\]|[A-Za-z]:[/\\])", path)) or "\0" in path
