"""Downloads as the two LMSs make them, built by code. Each function says where the format is written down.

Read in the programs' own sources on GitHub (public repositories instructure/canvas-lms and moodle/moodle):

* Canvas, the archive of all submissions: lib/content_zipper.rb. `get_filename` joins the sortable name (in lower case,
  letters, digits and _ only), LATE where it is late, and the user's id; `add_upload_submission` adds the attachment's
  id and the file's name. An assignment that is marked anonymously has anon_ID in place of name and id. Text that was
  typed in comes as ..._text.html, a link as ..._link.html. A later attempt has another, greater attachment id.
* Canvas, taking feedback back: app/models/abstract_assignment.rb, `infer_comment_context_from_filename`. Without LATE,
  the first two parts between _ that are numbers must be the user's and the attachment's id.
* Canvas, grades: lib/gradebook_importer.rb. The first row has Student, ID, perhaps SIS User ID and SIS Login ID, and
  Section, then assignments as `Title (id)`; a row whose first cell holds `Points Possible` may follow; a student is
  found by ID, then SIS User ID, then SIS Login ID, then name. An empty cell is no score.
* Moodle, the archive: mod/assign/classes/downloader.php. Full name (an _ in it becomes a space), _, the participant's
  number in this assignment, _assignsubmission_file; before 4.1 one more _ at the end; or all of it in front of the
  file's name when not downloaded in folders.
* Moodle, taking feedback back: mod/assign/feedback/file/importziplib.php, `is_valid_filename_for_import`. A part of the
  path that reads NAME_NUMBER_PLUGINTYPE_PLUGIN, NUMBER a participant; the rest of the path is the file's name.
* Moodle, the grading worksheet: mod/assign/gradingtable.php and mod/assign/feedback/offline/importgradeslib.php. Its
  columns Identifier (`Participant 123`), Grade and Last modified (grade) must be there.
* Moodle, the gradebook's import: grade/import/csv/classes/load_data.php. A student is found by one column out of id,
  ID number, e-mail and user name; an empty grade, or -, is none; any other text is refused.
"""

import io
import re
import zipfile


def canvas_name(sortable: str, user: int, attachment: int, file: str, late: bool = False) -> str:
    """A file's name in a Canvas archive; `sortable` is "Last, First"."""
    front = "_".join([sortable.lower(), *["LATE"] * late, str(user)])
    return re.sub(r"[^\w]", "", front) + f"_{attachment}_" + re.sub(r'[\x00/\\:*?"<>|]+', "_", file)


def moodle_path(name: str, participant: int, file: str, old: bool = False, folders: bool = True) -> str:
    """A file's path in a Moodle archive."""
    front = f"{name.replace('_', ' ')}_{participant}_assignsubmission_file"
    front = re.sub(r'[\\/:*?"<>|]', "", front)
    return f"{front}{'_' * old}/{file}" if folders else f"{front}_{file}"


def zipped(files: dict[str, bytes | str], links: dict[str, str] | None = None) -> bytes:
    """A zip with these files, and with symbolic links."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 30, 12, 0, 0)), content)
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16
            archive.writestr(info, target)
    return stream.getvalue()
