// Light or dark: as the reader's system has it, until they choose. Runs before anything is painted.
"use strict";
(() => {
  const sheet = document.getElementById("dark");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const byItself = sheet.media;

  function chosen() {
    try { return localStorage.getItem("fabric-theme"); } catch { return null; }
  }

  function isDark() {
    return chosen() ? chosen() === "dark" : system.matches;
  }

  function show() {
    sheet.media = chosen() === "dark" ? "all" : chosen() === "light" ? "not all" : byItself;
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = isDark() ? "☀" : "☾";
    button.setAttribute("aria-label", isDark() ? "Switch to light theme" : "Switch to dark theme");
    button.title = button.getAttribute("aria-label");
  }

  function turn() {
    const next = isDark() ? "light" : "dark";
    try { localStorage.setItem("fabric-theme", next); } catch { /* it is not remembered */ }
    show();
  }

  show();
  system.addEventListener("change", show);
  addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme").addEventListener("click", turn);
  });
})();
