"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const table = document.getElementById("students"), body = table.tBodies[0];
const find = document.getElementById("find"), which = document.getElementById("which");
const overview = document.getElementById("overview"), student = document.getElementById("student");

// an element with a class and text or children; text is only ever text
function make(tag, name, ...inside) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...inside.filter(x => x !== null && x !== undefined));
  return element;
}

function cell(text, name) { return make("td", name, text === null ? "–" : String(text)); }

function number(x) { return x === null ? "–" : String(Math.round(x * 100) / 100); }

function span(seconds) {
  const parts = [[Math.floor(seconds / 86400), "d"], [Math.floor(seconds / 3600) % 24, "h"], [Math.floor(seconds / 60) % 60, "min"]];
  return parts.filter(p => p[0]).map(p => p[0] + " " + p[1]).join(" ") || "under a minute";
}

function said(s) { return s.words.concat(s.repaired.map(note => "repaired · " + note)); }

const rows = data.students.map((s, at) => {
  const link = make("a", "", s.name);
  link.href = "#s" + at;
  const row = make("tr", "", make("td", "who", link, make("small", "", s.id)), make("td", "", make("span", "state " + s.state.replaceAll(" ", "-"), s.state)),
    cell(number(s.score), "n"), cell(s.penalty ? "−" + number(s.penalty) : "", "n"), cell(s.waits || "", "n"));
  for (const name of data.criteria) {
    row.append(cell(s.score === null ? "–" : s.done.includes(name) ? "✓" : "✗", "c " + (s.score === null ? "" : s.done.includes(name) ? "yes" : "no")));
  }
  row.append(make("td", "said", said(s).slice(0, 2).join(" · ")));
  row.keys = [s.name.toLowerCase(), s.state, s.score === null ? -1 : s.score, s.penalty, s.waits].concat(
    data.criteria.map(name => s.done.includes(name) ? 1 : 0), [said(s).join(" ").toLowerCase()]);
  row.text = [s.name, s.id, s.email, said(s).join(" ")].join(" ").toLowerCase();
  row.about = s;
  return row;
});

function show() {
  const wanted = find.value.toLowerCase(), state = which.value;
  let count = 0;
  for (const row of rows) {
    const fits = row.text.includes(wanted) && (!state || row.about.state === state || (state === "by hand" && row.about.waits > 0)
      || (state === "late" && row.about.late > 0) || (state === "repaired" && row.about.repaired.length > 0));
    row.hidden = !fits;
    count += fits;
  }
  document.getElementById("count").textContent = count + " of " + rows.length;
}

for (const [at, head] of [...table.tHead.rows[0].cells].entries()) {
  head.firstElementChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
    rows.sort((a, b) => down * (a.keys[at] < b.keys[at] ? -1 : a.keys[at] > b.keys[at] ? 1 : 0));
    body.append(...rows);
  });
}
find.addEventListener("input", show);
which.addEventListener("input", show);
body.append(...rows);
show();

function list(title, lines) { return lines.length ? make("div", "", make("h3", "", title), make("ul", "", ...lines.map(line => make("li", "", line)))) : null; }

// a student's own page
function open(at) {
  const s = data.students[at], facts = [s.id, s.email, s.state, s.time && "handed in " + s.time, s.late && span(s.late) + " late",
    s.extension && "extension of " + span(s.extension), s.waits && s.waits + " answers wait for a mark by hand"].filter(Boolean);
  const step = (to, words) => { const a = make("a", "", words); a.href = "#s" + to; return a; };
  const back = make("a", "", "← the class");
  back.href = "#";
  const points = s.score === null ? "no points yet" : number(s.score) + " of " + number(data.most) + " points"
    + (s.penalty ? " (" + number(s.earned) + " earned, " + number(s.penalty) + " taken off for being late)" : "");
  const marks = make("table", "marks", make("thead", "", make("tr", "", ...["question", "points", "state", "what was said"].map(t => make("th", "", t)))));
  const lines = make("tbody", "");
  data.questions.forEach(([name, most, byHand], q) => {
    const mark = s.marks[q];
    if (!mark) return;
    const [score, state, told, comment] = mark;
    lines.append(make("tr", "", make("td", "q", name + (byHand ? " · by hand" : "")), cell(number(score) + " / " + number(most), "n"),
      make("td", "", make("span", "mark m" + state, data.states[state])),
      make("td", "said", told ? make("pre", "", told) : null, comment ? make("p", "", "Comment: " + comment) : null)));
  });
  marks.append(lines);
  student.replaceChildren(make("nav", "", back, at > 0 ? step(at - 1, "previous") : null, at + 1 < data.students.length ? step(at + 1, "next") : null),
    make("h2", "", s.name), make("p", "facts", facts.join(" · ")), make("p", "points", points),
    ...[list("What happened", s.words), list("Repaired", s.repaired)].filter(Boolean),
    lines.rows.length ? make("div", "wide", marks) : make("p", "", "Nothing was graded."));
}

function go() {
  const found = /^#s(\d+)$/.exec(location.hash), at = found ? Number(found[1]) : -1, one = at >= 0 && at < data.students.length;
  if (one) open(at);
  overview.hidden = one;
  student.hidden = !one;
  if (one) scrollTo(0, 0);
}
addEventListener("hashchange", go);
go();
