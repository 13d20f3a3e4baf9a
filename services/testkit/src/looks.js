// Runs in Chromium, in a page that holds pages to be measured: each in frames of several widths, in which no
// script runs. What it finds becomes the text of this page.
"use strict";
(() => {
  const WIDTHS = [320, 390, 1280];
  const found = { pages: 0, texts: 0, buttons: 0, dark: false, wrong: [] };
  const wrong = (page, width, what) => found.wrong.push(`${page} at ${width} px: ${what}`);
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [red, green, blue] = parts(color).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };

  // Korean words that a line's end cuts in two.
  const cut = (element) => {
    const words = [];
    for (const node of element.childNodes) {
      for (const { 0: word, index } of (node.data ?? "").matchAll(/[\uac00-\ud7a3]\S*/g)) {
        const range = element.ownerDocument.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) words.push(word);
      }
    }
    return words;
  };

  const measure = (name, width, frame) => {
    const root = frame.contentDocument.documentElement;
    const style = (element) => frame.contentWindow.getComputedStyle(element);
    if (root.scrollWidth > root.clientWidth) wrong(name, width, `is ${root.scrollWidth} px wide`);
    const sample = root.querySelector("body").appendChild(frame.contentDocument.createElement("i"));
    sample.style.background = "Canvas";
    const canvas = style(sample).backgroundColor;
    found.dark = luminance(canvas) < 0.5;
    const behind = (element) => {
      if (!element) return canvas;
      const own = style(element).backgroundColor;
      return parts(own)[3] === 0 ? behind(element.parentElement) : own;
    };
    for (const element of root.querySelectorAll("h1, p, a, button")) {
      if (!element.textContent.trim() || !element.getClientRects().length) continue;
      found.texts += 1;
      const ratio = contrast(style(element).color, behind(element));
      if (ratio < 4.5) wrong(name, width, `a contrast of ${ratio.toFixed(1)}: ${element.textContent}`);
      for (const word of cut(element)) wrong(name, width, `cuts ${word}`);
      // Links in a footer are links.
      if (!element.matches("a, button") || element.closest("footer")) continue;
      found.buttons += 1;
      const { borderTopWidth, textDecorationLine } = style(element);
      const { height } = element.getBoundingClientRect();
      if (height < 44 || borderTopWidth === "0px" || textDecorationLine !== "none") {
        wrong(name, width, `no button: ${element.textContent}, ${height} px high`);
      }
    }
    found.pages += 1;
  };

  window.addEventListener("load", () => {
    for (const frame of document.querySelectorAll("iframe")) measure(frame.title, frame.clientWidth, frame);
    document.body.textContent = JSON.stringify(found);
  });
  for (const { title, content } of document.querySelectorAll("template")) {
    for (const width of WIDTHS) {
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.sandbox = "allow-same-origin";
      frame.title = title;
      frame.style = `border: 0; height: 800px; width: ${width}px`;
      frame.srcdoc = content.textContent;
    }
  }
})();
