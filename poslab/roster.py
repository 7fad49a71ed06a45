"""The roster: who is in the class, read from a CSV file as an LMS or a spreadsheet writes it.

What is known: a plain list (`id,first name,last name,email`), a Canvas gradebook export (`Student,ID,SIS User ID,
SIS Login ID,Section`), a Moodle grading worksheet (`Identifier,Full name,Email address`) and a Moodle list of
participants. Columns are known by their headers, in any order; what is not known is kept and not looked at.
"""

import csv
import io
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = {     # what a person has -> the headers that it stands under, in lower case, the best first
    "student": ("student id", "student_id", "student", "sis login id", "login id", "login", "username", "user name", "sis user id", "id number",
                "matriculation number", "id", "email address", "email", "e-mail"),
    "first": ("first name", "first_name", "firstname", "given name", "forename"),
    "last": ("last name", "last_name", "lastname", "surname", "family name"),
    "name": ("full name", "name", "student", "student name"),
    "email": ("email address", "email", "e-mail", "mail"),
    "lms": ("lms id", "lms_user_id", "canvas id", "identifier", "id"),
    "sis": ("sis user id", "id number", "sis_id", "matriculation number"),
    "login": ("sis login id", "login id", "login", "username", "user name"),
    "section": ("section", "group", "sections"),
    "handed_in": ("last modified (submission)", "submitted at", "submitted_at", "submitted", "timestamp"),
}
FORBIDDEN = re.compile(r"[\x00-\x1f/\\:*?\"<>|+]|^[.\s]|[.\s]$")      # in a folder's name on some system; nbgrader refuses +


class BadRoster(Exception):
    """A file is no roster; the message says what to do."""


@dataclass
class Person:
    """A line of the roster."""

    student: str            # the id in the gradebook, and the folder's name
    first: str = ""
    last: str = ""
    email: str = ""
    lms: str = ""           # the LMS's own number: Canvas's user id, Moodle's participant
    sis: str = ""           # the institution's number
    login: str = ""
    section: str = ""
    handed_in: str = ""     # when, as the LMS wrote it; empty where the file does not say
    row: dict = field(default_factory=dict)     # the line as it came

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}".strip()


def plain(text: str) -> str:
    """A name for comparing: lower case, no accents, letters and digits only."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    for letter, other in {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"}.items():     # these have no accent to take off
        text = text.replace(letter, other)
    return "".join(letter for letter in text if letter.isalnum() and not unicodedata.combining(letter))


def split_name(name: str) -> tuple[str, str]:
    """"Last, First" or "First Last" -> first, last"""
    if "," in name:
        last, _, first = name.partition(",")
    else:
        first, _, last = name.strip().rpartition(" ")
    return first.strip(), last.strip()


def folder_name(student: str) -> str:
    """A student's id as a folder can be named."""
    return re.sub(FORBIDDEN, "-", student.strip()) or "-"


def read_table(file: Path) -> list[dict[str, str]]:
    """The lines of a CSV file: comma, semicolon or tab, with or without a byte-order mark."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise BadRoster(f"{file} cannot be read ({error.strerror or error}).") from None
    for encoding in ("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        text = data.decode("utf-8", "replace")
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise BadRoster(f"{file} is no CSV file ({error}).") from None
    if not lines:
        raise BadRoster(f"{file} is empty.")
    headers = [header.strip() for header in lines[0]]
    return [dict(zip(headers, (cell.strip() for cell in line + [""] * len(headers)), strict=False)) for line in lines[1:]]


def people_of(rows: list[dict[str, str]], file: str) -> list[Person]:
    """The persons in a table's lines. Raises BadRoster where they cannot be told apart."""
    headers = {header.lower(): header for header in (rows[0] if rows else {})}
    canvas = "student" in headers and "section" in headers
    people = []
    for row in rows:
        def value(what: str, row=row) -> str:
            for header in COLUMNS[what]:
                if header == "id" and what == ("student" if canvas else "lms") or header == what == "student" and canvas:
                    continue        # Canvas's `ID` is its own number and `Student` the name; elsewhere they are the student's id
                if row.get(headers.get(header, ""), "").strip():
                    return row[headers[header]].strip()
            return ""

        if value("name").startswith("Points Possible") or value("name") == "Student, Test" or not any(row.values()):
            continue                # of a Canvas gradebook: no persons
        first, last = value("first"), value("last")
        if not (first or last):
            first, last = split_name(value("name"))
        lms = re.sub(r"^\D+(?=\d+$)", "", value("lms"))     # Moodle: "Participant 123", in the site's language
        student = folder_name(value("student") or lms or plain(f"{first} {last}"))
        people.append(Person(student, first, last, value("email"), lms, value("sis"), value("login"), value("section"), value("handed_in"), row))
    if not people:
        raise BadRoster(f"{file} lists nobody. Its first line must name the columns: id, first name, last name, email.")
    twice = [student for student, count in Counter(person.student.casefold() for person in people).items() if count > 1]
    if twice:
        raise BadRoster(f"{file} has the id {', '.join(sorted(twice)[:5])} more than once. Each student needs an id of their own "
                        "(a column `id`, or a login, number or e-mail that nobody else has).")
    return people


def read_roster(file: Path) -> list[Person]:
    """The persons of a roster file."""
    rows = read_table(file)
    if not any(header.lower() in known for header in (rows[0] if rows else {}) for known in COLUMNS.values()):
        raise BadRoster(f"{file} has no column that is known: its first line must name them, for instance id, first name, last name, email.")
    return people_of(rows, str(file))
