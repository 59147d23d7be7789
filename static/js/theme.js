// Runs before the first paint, so that a chosen theme does not flash. "auto" is kept as nothing.
(() => {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage is blocked: the theme follows the system.
  }
})();
