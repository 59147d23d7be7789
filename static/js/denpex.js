// Conveniences only: every page reads, searches and posts without this file.
"use strict";

const THEMES = ["auto", "light", "dark"];

function setUpThemeToggle() {
  const toggle = document.querySelector("[data-theme-toggle]");
  if (!toggle) return;
  const root = document.documentElement;
  const name = toggle.querySelector("[data-theme-name]");
  name.textContent = root.dataset.theme ?? "auto";
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(name.textContent) + 1) % THEMES.length];
    name.textContent = next;
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", next);
    } catch {
      // Storage is blocked: the choice holds for this page.
    }
  });
}

// In a session with prompts, the commands alone are worth copying.
function textToCopy(code) {
  if (!code.querySelector(".gp")) return code.textContent.replace(/\n$/, "");
  const copy = code.cloneNode(true);
  for (const part of copy.querySelectorAll(".gp, .go")) part.remove();
  return copy.textContent.split("\n").filter((line) => line.trim()).join("\n");
}

function addCopyButton(pre) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(textToCopy(pre.querySelector("code") ?? pre));
    } catch {
      said = "Select and copy";
      getSelection().selectAllChildren(pre);
    }
    button.textContent = said;
    announce(said);
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const frame = document.createElement("div");
  frame.className = "copyable";
  pre.replaceWith(frame);
  frame.append(pre, button);
}

function announce(text) {
  let region = document.querySelector("[data-announcements]");
  if (!region) {
    region = document.createElement("div");
    region.dataset.announcements = "";
    region.className = "visually-hidden";
    region.setAttribute("role", "status");
    document.body.append(region);
  }
  region.textContent = text;
}

// Ctrl+Enter or Ctrl+S (or Command) in the paste box sends it.
function setUpSending(textarea) {
  textarea.addEventListener("keydown", (event) => {
    if (!["Enter", "s"].includes(event.key) || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    textarea.form.requestSubmit();
  });
}

// What may be meant, below the search box while it is typed into. Enter searches as without it.
function setUpSuggestions(form) {
  const input = form.elements.q;
  const list = document.createElement("ul");
  list.id = `${input.id}-suggestions`;
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  form.append(list);
  // Without a script the browser may offer what was typed before, and keeps it on the way back.
  input.autocomplete = "off";
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", list.id);
  let asked = 0;
  let timer;

  function show(suggestions) {
    list.replaceChildren(...suggestions.map((each, index) => optionFor(each, `${list.id}-${index}`)));
    list.hidden = !suggestions.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    choose(-1);
  }

  function choose(index) {
    [...list.children].forEach((option, place) =>
      option.setAttribute("aria-selected", String(place === index)),
    );
    const chosen = list.children[index];
    if (chosen) input.setAttribute("aria-activedescendant", chosen.id);
    else input.removeAttribute("aria-activedescendant");
    chosen?.scrollIntoView({ block: "nearest" });
  }

  async function ask() {
    const number = ++asked;
    const text = input.value.trim();
    if (text.length < 2) return show([]);
    try {
      const answer = await fetch(`${form.dataset.suggestions}?${new URLSearchParams({ q: text })}`);
      const { suggestions } = await answer.json();
      if (number === asked) show(suggestions);
    } catch {
      // No suggestions: Enter still searches.
    }
  }

  function move(step) {
    const options = [...list.children];
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    const next = at + step;
    choose(next < -1 ? options.length - 1 : next >= options.length ? -1 : next);
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  });
  input.addEventListener("keydown", (event) => {
    const chosen = list.querySelector("[aria-selected=true]");
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Escape") show([]);
    else if (event.key === "Enter" && chosen) location.assign(chosen.dataset.url);
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", () => show([]));
  setUpPasting(form, input);
}

function optionFor(suggestion, id) {
  const option = document.createElement("li");
  option.id = id;
  option.dataset.url = suggestion.url;
  option.setAttribute("role", "option");
  const badge = document.createElement("span");
  badge.className = `badge badge--${suggestion.severity}`;
  badge.textContent = suggestion.severity;
  option.append(suggestion.title, " ", badge);
  // The field loses the focus, and with it the list, before a click is done.
  option.addEventListener("mousedown", (event) => event.preventDefault());
  option.addEventListener("click", () => location.assign(suggestion.url));
  return option;
}

// So much of an address is for the search: servers take 8 KB in all.
const SEARCHED_BYTES = 6000;

// The last whole lines of a text, or the end of the last line, that an address has room for.
function endOf(text) {
  const tooLong = (end) => String(new URLSearchParams({ q: end })).length > SEARCHED_BYTES;
  if (text.length <= SEARCHED_BYTES && !tooLong(text)) return text;
  const lines = text.slice(-SEARCHED_BYTES).split("\n").slice(1);
  while (lines.length && tooLong(lines.join("\r\n"))) lines.shift();
  // No character takes more than nine bytes.
  return lines.join("\n") || text.slice(-Math.floor(SEARCHED_BYTES / 9));
}

// A field of one line drops line ends, and cuts off the end of a traceback, where the error is. What
// is searched for is the end of a long text; the page of results offers the whole to be diagnosed.
function setUpPasting(form, input) {
  let pasted = "";
  let shown = "";
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text").trim();
    if (!text.includes("\n") && endOf(text) === text) return;
    event.preventDefault();
    pasted = text;
    shown = input.value = endOf(text).replace(/\s+/g, " ");
  });
  form.addEventListener("formdata", ({ formData }) => {
    const whole = shown && input.value === shown ? pasted : input.value;
    const end = endOf(whole);
    formData.set("q", end);
    try {
      if (end === whole) sessionStorage.removeItem("pasted");
      else sessionStorage.setItem("pasted", whole);
    } catch {
      // Storage is blocked or full: what was searched for is offered.
    }
  });
}

// Ctrl+K (or Command+K) and / lead to the search box.
function setUpSearchKey(input) {
  function search() {
    input.focus();
    input.select();
  }
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    search();
  });
  onKey("/", search);
}

// Keys without Ctrl act only outside of fields, and can be switched off: whoever speaks to their
// machine types them without meaning to (WCAG 2.1.4).
const actionOfKey = new Map();

function onKey(key, action) {
  actionOfKey.set(key, action);
}

function actOnKey(event) {
  const action = actionOfKey.get(event.key.toLowerCase());
  if (!action || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, select, textarea, dialog, [contenteditable]")) return;
  if (recall("single-keys") === "off") return;
  event.preventDefault();
  action();
}

function setUpKeys(dialog) {
  const toggle = document.querySelector("[data-keys-toggle]");
  const single = dialog.querySelector("[type=checkbox]");
  const show = () => dialog.showModal();
  toggle.hidden = false;
  toggle.addEventListener("click", show);
  onKey("?", show);
  single.checked = recall("single-keys") !== "off";
  single.addEventListener("change", () => keep("single-keys", single.checked ? "on" : "off"));
  document.addEventListener("keydown", actOnKey);
}

// What a reader chose stays chosen on the next page: the stack, and the role.
function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage is blocked: the choice holds for this page.
  }
}

// Variants for each stack become tabs; without a script they stand one below the other.
function setUpStacks(group, number) {
  const panels = [...group.children];
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Stack");
  const tabs = panels.map((panel, index) => {
    const heading = panel.firstElementChild;
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `stack-${number}-${index}`;
    tab.textContent = heading.textContent;
    tab.setAttribute("role", "tab");
    panel.id = `${tab.id}-panel`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.setAttribute("aria-controls", panel.id);
    heading.hidden = true;
    tab.addEventListener("click", () => {
      keep("stack", tab.textContent);
      document.dispatchEvent(new CustomEvent("stack", { detail: tab.textContent }));
    });
    return tab;
  });

  function show(index) {
    tabs.forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(place === index));
      tab.tabIndex = place === index ? 0 : -1;
      panels[place].hidden = place !== index;
    });
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.indexOf(document.activeElement);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
  const named = (name) => tabs.findIndex((tab) => tab.textContent === name);
  // All groups of the page follow, where they have the stack.
  document.addEventListener("stack", ({ detail }) => named(detail) >= 0 && show(named(detail)));
  list.append(...tabs);
  group.prepend(list);
  show(Math.max(0, named(recall("stack"))));
}

// Of several parts of which one is open, the one for this reader.
function setUpChoice(details) {
  if (details.dataset.choice === recall(details.name)) details.open = true;
  details.addEventListener("toggle", () => {
    if (details.open) keep(details.name, details.dataset.choice);
  });
}

// The part of the page that is being read is marked among the contents.
function setUpContents(links) {
  const linkOf = new Map(
    [...links].map((link) => [document.querySelector(link.hash)?.closest("section"), link]),
  );
  const seen = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target);
      else seen.delete(target);
    }
    const first = [...linkOf.keys()].find((section) => seen.has(section));
    for (const [section, link] of linkOf) {
      if (section === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  });
  linkOf.forEach((_link, section) => section && observer.observe(section));
}

// On paper a page says when it was printed, and where it stands unless that opens a log.
function setUpPrinting(line) {
  addEventListener("beforeprint", () => {
    const moment = new Date().toISOString().slice(0, 16).replace("T", ", ");
    const address = "address" in line.dataset ? ` from ${location.href.split("#")[0]}` : "";
    line.textContent = `Printed${address} on ${moment} UTC`;
  });
}

setUpThemeToggle();
document.querySelectorAll(".article pre, .command pre, [data-copy]").forEach(addCopyButton);
document.querySelectorAll(".paste textarea").forEach(setUpSending);
document.querySelectorAll(".stacks").forEach(setUpStacks);
document.querySelectorAll("[data-choice]").forEach(setUpChoice);
setUpContents(document.querySelectorAll(".contents a"));
document.querySelectorAll("form[data-suggestions]").forEach(setUpSuggestions);
setUpSearchKey(document.querySelector(".site-search input"));
setUpPrinting(document.querySelector("[data-printed]"));
setUpKeys(document.querySelector("#keys"));
