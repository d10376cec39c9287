"use strict";

// A framed document gets the height of its content, so that the page has only one scroll bar.
// The height changes when a part of the document is unfolded or the window is resized.
function fit(frame) {
  const measure = () => {
    const root = frame.contentDocument && frame.contentDocument.documentElement;
    if (root) frame.style.height = `${Math.min(Math.ceil(root.offsetHeight) + 8, 6000)}px`;
  };
  const begin = () => {
    measure();
    if (frame.contentDocument) new ResizeObserver(measure).observe(frame.contentDocument.body);
  };
  frame.addEventListener("load", begin);
  if (frame.contentDocument && frame.contentDocument.readyState === "complete") begin();
}

document.querySelectorAll("iframe.model").forEach(fit);
