// Conveniences of the paste form: it sends and is answered without this file too.
"use strict";

// A value of its own for each form shown makes a double click one job. Pages are the same for
// everyone, so that it is made here.
function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Asked for when the form is first used, so that reading a page asks the server for nothing.
async function showAllowance(form) {
  try {
    const answer = await fetch(form.dataset.allowanceAddress, { credentials: "same-origin" });
    if (!answer.ok) return;
    const allowance = form.querySelector("[data-allowance]");
    allowance.innerHTML = await answer.text();
    // An account may send larger logs than the page says to everyone, and keeps them for longer.
    const { limit, kept } = allowance.querySelector("[data-limit]")?.dataset ?? {};
    if (limit) form.dataset.limit = form.querySelector("[data-megabytes]").textContent = limit;
    if (kept) form.querySelector("[data-keeping]").textContent = kept;
  } catch {
    // The server says it again when the form is sent.
  }
}

function sizeOf(form) {
  const text = new Blob([form.elements.log.value]).size;
  const files = [...form.elements.files.files].filter((file) => !file.name.endsWith(".gz"));
  return files.reduce((sum, file) => sum + file.size, text);
}

function problemOf(form) {
  if (isEmpty(form)) {
    return "There is no log here yet. Paste the text of your log, or choose a file.";
  }
  if (sizeOf(form) > form.dataset.limit * 1e6) {
    return `That is more than ${form.dataset.limit} MB of text. Send the part around the first error, of every rank where you can.`;
  }
  return "";
}

function isEmpty(form) {
  return !form.elements.log.value.trim() && !form.elements.files.files.length;
}

// A file that misses the box would else open in place of the page, and take it along.
function setUpDropping(form) {
  const brings = (event) => event.dataTransfer.types.includes("Files");
  document.addEventListener("dragover", (event) => brings(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    form.elements.files.files = event.dataTransfer.files;
    form.elements.files.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// What was pasted into the search box, where the address of its results had room for the end alone.
function showWholePaste(form) {
  try {
    const pasted = sessionStorage.getItem("pasted");
    const searched = document.querySelector("[data-searched]");
    const onOneLine = (text) => text.replace(/\s+/g, " ").trim();
    if (!pasted || !searched || !onOneLine(pasted).endsWith(onOneLine(form.elements.log.value))) return;
    const share = `the last ${searched.dataset.searched} of ${pasted.length} characters`;
    searched.textContent = `Only its end was searched for: ${share}. The box below holds all that you pasted. `;
    form.elements.log.value = pasted;
  } catch {
    // Storage is blocked: the box holds what was searched for.
  }
}

function setUpPasteForm(form) {
  const button = form.querySelector("[type=submit]");
  const problem = form.querySelector("[data-problem]");
  const words = button.textContent;

  function rest() {
    button.disabled = false;
    button.textContent = words;
    delete form.dataset.sent;
    showWhetherEmpty();
  }

  // Dimmed and not disabled: who presses it nonetheless is told what is missing.
  function showWhetherEmpty() {
    button.setAttribute("aria-disabled", String(isEmpty(form)));
  }

  showWholePaste(form);
  if (!form.elements.nonce.value) form.elements.nonce.value = newNonce();
  form.addEventListener("input", showWhetherEmpty);
  // Where the page itself put the focus into the box, nobody has used it yet.
  const uses = form.elements.log.autofocus ? ["pointerdown", "keydown", "input"] : ["focusin"];
  const unused = new AbortController();
  const onUse = () => {
    unused.abort();
    showAllowance(form);
  };
  for (const use of uses) form.addEventListener(use, onUse, { signal: unused.signal });
  form.addEventListener("submit", (event) => {
    problem.textContent = problemOf(form);
    problem.hidden = !problem.textContent;
    if (problem.textContent || form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    button.textContent = "Masking and sending…";
    // After the form's data were taken, or the click itself would be stopped.
    setTimeout(() => (button.disabled = true));
  });
  // Back from the verdict: the page comes as it was left, and may be sent again.
  addEventListener("pageshow", rest);
  setUpDropping(form);
}

document.querySelectorAll("form[data-paste]").forEach(setUpPasteForm);
