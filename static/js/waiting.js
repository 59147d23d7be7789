// Asks whether the verdict is there, and then shows it. Without this file the page reloads itself.
"use strict";

const FIRST_WAIT = 300;
const LONGEST_WAIT = 3000;

async function isWaiting(status) {
  try {
    const answer = await fetch(status.dataset.waiting, { cache: "no-store" });
    if (answer.status !== 202) return answer.status === 503;
    const job = await answer.json();
    const words =
      job.state === "running"
        ? "The engine is reading it now."
        : job.place_in_line === 1
          ? "It is next in line."
          : `Number ${job.place_in_line} in line.`;
    if (status.textContent !== words) status.textContent = words;
  } catch {
    // The connection is gone for a moment: ask again.
  }
  return true;
}

async function follow(status) {
  let wait = FIRST_WAIT;
  do {
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 1.5, LONGEST_WAIT);
  } while (await isWaiting(status));
  location.reload();
}

follow(document.querySelector("[data-waiting]"));
