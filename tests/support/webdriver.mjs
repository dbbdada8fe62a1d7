// The few WebDriver calls that the window test needs, over fetch.

import { until } from "./place.mjs";

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

export class Driver {
  static async open(address, application) {
    const driver = new Driver();
    driver.address = address;
    const capabilities = { alwaysMatch: { "tauri:options": { application } } };
    const reply = await driver.#send("POST", "/session", { capabilities });
    driver.session = `/session/${reply.sessionId}`;
    return driver;
  }

  async #send(method, path, body) {
    const answer = await fetch(this.address + path, {
      method,
      headers: { "content-type": "application/json" },
      body: method === "POST" ? JSON.stringify(body ?? {}) : undefined,
      signal: AbortSignal.timeout(60_000),
    });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${value?.error}: ${value?.message}`);
    return value;
  }

  /** Runs a function body in the page. */
  run(script, ...args) {
    return this.#send("POST", `${this.session}/execute/sync`, { script, args });
  }

  async find(xpath, limit = 30_000) {
    const body = { using: "xpath", value: xpath };
    const found = await until(() => this.#send("POST", `${this.session}/element`, body), limit, xpath);
    return found[ELEMENT];
  }

  async click(xpath, limit) {
    const id = await this.find(xpath, limit);
    await this.#send("POST", `${this.session}/element/${id}/click`);
  }

  async type(xpath, text) {
    const id = await this.find(xpath);
    await this.#send("POST", `${this.session}/element/${id}/value`, { text });
  }

  async text(xpath, limit) {
    const id = await this.find(xpath, limit);
    return this.#send("GET", `${this.session}/element/${id}/text`);
  }

  title() {
    return this.#send("GET", `${this.session}/title`);
  }

  /** Closes the window. */
  async close() {
    await this.#send("DELETE", this.session);
  }
}
