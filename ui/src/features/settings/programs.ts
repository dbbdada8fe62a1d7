/** Programs that are told how to use the endpoint. */
export const SNIPPETS = ["curl", "python", "claudeCode", "codex", "continue", "openWebUi", "env"] as const;

/** `url` ends in `/v1`. Names of models hold no quotes. */
export function snippetsFor(
  url: string,
  key: string,
  model: string,
): Record<(typeof SNIPPETS)[number], string> {
  return {
    curl: `curl ${url}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}",
       "messages": [{"role": "user", "content": "Hello"}]}'`,
    python: `from openai import OpenAI

client = OpenAI(base_url="${url}", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    claudeCode: `export ANTHROPIC_BASE_URL=${url.replace(/\/v1$/, "")}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_SMALL_FAST_MODEL=${model}
claude`,
    codex: `# ~/.codex/config.toml
model = "${model}"
model_provider = "plimsoll"

[model_providers.plimsoll]
name = "Plimsoll"
base_url = "${url}"
env_key = "PLIMSOLL_KEY"
wire_api = "responses"

# in the terminal
export PLIMSOLL_KEY=${key}`,
    continue: `# ~/.continue/config.yaml
name: Plimsoll
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${url}
    apiKey: ${key}
    roles: [chat, edit, apply]`,
    openWebUi: `export OPENAI_API_BASE_URL=${url}
export OPENAI_API_KEY=${key}
open-webui serve`,
    env: `export OPENAI_BASE_URL=${url}
export OPENAI_API_KEY=${key}`,
  };
}

/** Enough to tell two keys apart, too little to use one. */
export function masked(key: string): string {
  return `${key.slice(0, 3)}${"•".repeat(12)}`;
}
