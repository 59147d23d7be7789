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

// Ctrl+Enter (or Command+Enter) in the paste box sends it.
function setUpSending(textarea) {
  textarea.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) textarea.form.requestSubmit();
  });
}

setUpThemeToggle();
document.querySelectorAll(".article pre, .command pre, [data-copy]").forEach(addCopyButton);
document.querySelectorAll(".paste textarea").forEach(setUpSending);
