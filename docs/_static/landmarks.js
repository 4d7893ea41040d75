// For readers with a keyboard or a screen reader: what scrolls can be reached, the two asides have names, and the empty
// corner of a table is no heading.
const label = (selector, name) => document.querySelector(selector)?.setAttribute("aria-label", name);
const reachable = () => {
  const parts = document.querySelectorAll(".highlight pre, .sig, .table-wrapper, article p:has(> img:only-child)");
  for (const part of parts) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
};
addEventListener("load", () => {
  label("aside.sidebar-drawer", "All pages");
  label("aside.toc-drawer", "This page");
  for (const corner of document.querySelectorAll("th:empty, th:has(> p:empty:only-child)")) {
    corner.replaceWith(document.createElement("td"));
  }
  reachable();
});
addEventListener("resize", reachable);
