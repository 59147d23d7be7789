// Conveniences of the verdict and its log: links lead to all of it without this file too.
"use strict";

const MOST_LINES = 10000;
const LINES = /^#(?:F(\d+)-)?L(\d+)(?:-(?:F\d+-)?L?(\d+))?$/;

// A gap between lines opens in its place, unless the page would grow too long: then the log's own
// page, where the link leads, is the better place to read.
async function openGap(event) {
  const link = event.target.closest("a[data-lines]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const [, first, last] = /part=(\d+)-(\d+)/.exec(link.dataset.lines);
  const shown = document.querySelectorAll(".log li").length;
  if (shown + Number(last) - Number(first) >= MOST_LINES) return;
  event.preventDefault();
  const rows = await fetchRows(link.dataset.lines);
  if (!rows) {
    location.assign(link.href);
    return;
  }
  const number = rows.querySelector(".log-number");
  link.closest("li").replaceWith(...rows.children);
  number?.focus();
  announce(link.textContent.replace("show", "Shown:"));
}

async function fetchRows(address) {
  try {
    const answer = await fetch(address);
    if (!answer.ok) return null;
    const list = document.createElement("ol");
    list.innerHTML = await answer.text();
    return list;
  } catch {
    return null;
  }
}

// #L10 and #L10-L20 (in the second file: #F2-L10): chosen where they are shown, else gone to.
function goToLines(log) {
  const found = LINES.exec(location.hash);
  if (!found) return;
  const [file, first, last] = [found[1] ?? "1", Number(found[2]), Number(found[3] ?? found[2])];
  const [from, to] = [Math.min(first, last), Math.max(first, last)];
  const start = document.getElementById(lineId(file, from));
  if (!start) {
    const wanted = to > from ? `lines=${from}-${to}` : `line=${from}`;
    const address = `${log.dataset.logPages}${file}/?${wanted}${location.hash}`;
    if (!location.search.includes(wanted)) location.replace(address);
    return;
  }
  choose(file, from, to);
  // Also for one line: a scroll that is under way, as to a link that got the focus, would win.
  start.scrollIntoView({ block: "center" });
}

function lineId(file, line) {
  return file === "1" ? `L${line}` : `F${file}-L${line}`;
}

function choose(file, from, to) {
  for (const line of document.querySelectorAll(".log-chosen")) line.classList.remove("log-chosen");
  if (to === from) return;
  for (let line = from; line <= Math.min(to, from + MOST_LINES); line += 1) {
    document.getElementById(lineId(file, line))?.classList.add("log-chosen");
  }
}

// Shift and a click on a second number choose all the lines between.
function chooseRun(event) {
  const number = event.target.closest(".log-number");
  const start = LINES.exec(location.hash);
  if (!number || !event.shiftKey || !start) return;
  const end = LINES.exec(`#${number.closest("li").id}`);
  if (!end || end[1] !== start[1]) return;
  event.preventDefault();
  const prefix = start[1] ? `F${start[1]}-` : "";
  location.hash = `${prefix}L${start[2]}-L${end[2]}`;
}

// N and P step through the lines of evidence, from the one that has the focus or had it last.
function setUpEvidenceKeys() {
  let last = -1;

  function step(by) {
    const numbers = [...document.querySelectorAll(".log-evidence > .log-number")];
    if (!numbers.length) return;
    const focused = numbers.indexOf(document.activeElement);
    const from = focused < 0 ? last : focused;
    last = from < 0 ? (by > 0 ? 0 : numbers.length - 1) : (from + by + numbers.length) % numbers.length;
    numbers[last].focus({ preventScroll: true });
    numbers[last].scrollIntoView({ block: "center" });
  }

  onKey("n", () => step(1));
  onKey("p", () => step(-1));
}

function setUpCopying(button) {
  const words = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copies);
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      said = "Select and copy";
      text.closest("details").open = true;
      getSelection().selectAllChildren(text);
    }
    button.textContent = said;
    announce(said);
    setTimeout(() => (button.textContent = words), 2000);
  });
}

const log = document.querySelector("[data-log-pages]");
if (log) {
  log.addEventListener("click", openGap);
  log.addEventListener("click", chooseRun);
  addEventListener("hashchange", () => goToLines(log));
  goToLines(log);
}
setUpEvidenceKeys();
document.querySelectorAll("[data-copies]").forEach(setUpCopying);
