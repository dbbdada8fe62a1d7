"""The official Python client of Anthropic against our endpoint, as a program of somebody else would use it.

Says `ok WHAT` after each thing that works; ends with an error at the first that does not. Nothing here depends on what the
model says, only on the form in which it comes.
"""

import os

import anthropic

URL, KEY, MODEL = os.environ["ENDPOINT_URL"], os.environ["ENDPOINT_KEY"], os.environ["ENDPOINT_MODEL"]
BASE = URL.removesuffix("/v1")
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
client = anthropic.Anthropic(base_url=BASE, api_key=KEY, timeout=150, max_retries=0)
HELLO = [{"role": "user", "content": "Say hello."}]
STOPS = ("end_turn", "max_tokens", "stop_sequence", "tool_use")


def ok(what):
    print("ok", what, flush=True)


def refused(error, work):
    try:
        work()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


answer = client.messages.create(model=MODEL, messages=HELLO, max_tokens=24, system="Answer in one line.")
assert answer.content[0].text and answer.usage.input_tokens > 0 and answer.stop_reason in STOPS, answer
ok("message")

count = client.messages.count_tokens(model=MODEL, messages=HELLO, system="Answer in one line.")
read = answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
assert count.input_tokens == read, (count, answer.usage)
ok("count")

with client.messages.stream(model=MODEL, messages=HELLO, max_tokens=24) as stream:
    text = "".join(stream.text_stream)
    final = stream.get_final_message()
assert text and text == final.content[0].text and final.stop_reason in STOPS, (text, final)
assert final.usage.output_tokens > 0
ok("stream")

tools = [
    {
        "name": "tide",
        "description": "The height of the tide at a place",
        "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    }
]
question = {"role": "user", "content": "How high is the tide in Brest?"}
answer = client.messages.create(model=MODEL, messages=[question], tools=tools, max_tokens=48)
assert answer.stop_reason in STOPS
for block in answer.content:
    assert block.type in ("text", "tool_use", "thinking")
told = [
    question,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "tide", "input": {"place": "Brest"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "7.2 m"}]},
]
answer = client.messages.create(model=MODEL, messages=told, tools=tools, max_tokens=24)
assert answer.usage.output_tokens > 0
ok("tools")

source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
look = [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]}]
refused(anthropic.BadRequestError, lambda: client.messages.create(model=MODEL, messages=look, max_tokens=4))
ok("a picture for a model without eyes")

long = [{"role": "user", "content": "word " * 60_000}]
refused(anthropic.BadRequestError, lambda: client.messages.create(model=MODEL, messages=long, max_tokens=4))
ok("too long")

stranger = anthropic.Anthropic(base_url=BASE, api_key="wrong", max_retries=0)
refused(anthropic.AuthenticationError, lambda: stranger.messages.create(model=MODEL, messages=HELLO, max_tokens=4))
refused(anthropic.NotFoundError, lambda: client.messages.create(model="claude", messages=HELLO, max_tokens=4))
ok("refusals")
