import { afterEach, describe, expect, it } from "vitest";

import { makeRouter } from "./router";

describe("the place in the fragment", () => {
  afterEach(() => window.history.replaceState(null, "", "/"));

  it.each([
    ["/?token=abc#/settings?section=engines", "/settings", "?section=engines"],
    ["/#/c/42", "/c/42", ""],
    ["/?token=abc", "/", ""],
  ])("%s is %s%s", (address, pathname, search) => {
    window.history.replaceState(null, "", address);
    const { location } = makeRouter().history;
    expect([location.pathname, location.search]).toEqual([pathname, search]);
  });
});
