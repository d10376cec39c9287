"use strict";

// A document of its own in a page is as high as what is in it, so that there is one scroll bar.
// It grows and shrinks where a part of it is unfolded, or the window becomes narrower.
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
