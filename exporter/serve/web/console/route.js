import { useEffect, useState } from "preact/hooks";

/**
 * Where the page is: `#/VIEW/PART/PART?name=value`. A link holds all of it.
 * @typedef {{ view: string, parts: string[], query: URLSearchParams }} Route
 */

/** @returns {Route} */
function current() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...parts] = path.split("/").map((part) => decodePart(part));
  return { view, parts, query: new URLSearchParams(query) };
}

/** @param {string} part */
function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @returns {Route} */
export function useRoute() {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const follow = () => setRoute(current());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/**
 * @param {string} view
 * @param {readonly string[]} [parts]
 * @param {Record<string, string>} [query] empty values are left out; the application that is looked at stays
 */
export function linkTo(view, parts = [], query = {}) {
  const application = current().query.get("application");
  const all = { ...(application === null ? {} : { application }), ...query };
  const kept = Object.entries(all).filter(([, value]) => value !== "");
  const search = kept.length === 0 ? "" : `?${new URLSearchParams(kept)}`;
  return `#/${[view, ...parts].map((part) => encodeURIComponent(part)).join("/")}${search}`;
}

/** Changes what a link to this place holds without leaving it. @param {string} link */
export function replaceLink(link) {
  history.replaceState(null, "", link);
}
