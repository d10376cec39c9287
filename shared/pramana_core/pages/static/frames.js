"use strict";

// A document of its own in a page is as high as what is in it, so that there is one scroll bar.
function fit(frame) {
  const measure = () => {
    const root = frame.contentDocument && frame.contentDocument.documentElement;
    if (root) frame.style.height = `${Math.min(root.scrollHeight + 24, 6000)}px`;
  };
  frame.addEventListener("load", measure);
  if (frame.contentDocument && frame.contentDocument.readyState === "complete") measure();
}

document.querySelectorAll("iframe.model").forEach(fit);
