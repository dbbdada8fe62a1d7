"""The official Python client of OpenAI against our endpoint, as a program of somebody else would use it.

Says `ok WHAT` after each thing that works; ends with an error at the first that does not. Nothing here depends on what the
model says, only on the form in which it comes.
"""

import json
import os
from typing import Literal

import openai
from pydantic import BaseModel

URL, KEY, MODEL = os.environ["ENDPOINT_URL"], os.environ["ENDPOINT_KEY"], os.environ["ENDPOINT_MODEL"]
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
client = openai.OpenAI(base_url=URL, api_key=KEY, timeout=150, max_retries=0)
HELLO = [{"role": "user", "content": "Say hello."}]


class Boat(BaseModel):
    kind: Literal["ship", "raft"]
    masts: Literal[1, 2, 3]


def ok(what):
    print("ok", what, flush=True)


def refused(error, work):
    try:
        work()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


assert MODEL in [model.id for model in client.models.list()]
assert client.models.retrieve(MODEL).id == MODEL
ok("models")

text, usage = "", None
for chunk in client.chat.completions.create(
    model=MODEL, messages=HELLO, max_tokens=24, stream=True, stream_options={"include_usage": True}
):
    usage = chunk.usage or usage
    text += "".join(choice.delta.content or "" for choice in chunk.choices)
assert text and usage.prompt_tokens > 0 and usage.completion_tokens > 0, (text, usage)
ok("stream")

TOOL = {
    "name": "tide",
    "description": "The height of the tide at a place",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}
tools = [{"type": "function", "function": TOOL}]
question = {"role": "user", "content": "How high is the tide in Brest?"}
answer = client.chat.completions.create(model=MODEL, messages=[question], tools=tools, max_tokens=48).choices[0]
assert answer.finish_reason in ("stop", "length", "tool_calls"), answer
for call in answer.message.tool_calls or []:
    assert answer.finish_reason == "length" or isinstance(json.loads(call.function.arguments), dict)
call = {"id": "call_1", "type": "function", "function": {"name": "tide", "arguments": '{"place": "Brest"}'}}
told = [
    question,
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "call_1", "content": "7.2 m"},
]
answer = client.chat.completions.create(model=MODEL, messages=told, tools=tools, max_tokens=24)
assert answer.usage.completion_tokens > 0
ok("tools")

parsed = client.chat.completions.parse(model=MODEL, messages=HELLO, response_format=Boat, max_tokens=200)
boat = parsed.choices[0].message.parsed
assert boat.kind in ("ship", "raft") and boat.masts in (1, 2, 3), parsed
ok("structured output")

seen = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
look = [{"role": "user", "content": seen}]
refused(openai.BadRequestError, lambda: client.chat.completions.create(model=MODEL, messages=look, max_tokens=4))
ok("a picture for a model without eyes")

long = [{"role": "user", "content": "word " * 60_000}]
refused(openai.BadRequestError, lambda: client.chat.completions.create(model=MODEL, messages=long, max_tokens=4))
ok("too long")

stranger = openai.OpenAI(base_url=URL, api_key="wrong", max_retries=0)
refused(openai.AuthenticationError, lambda: stranger.models.list())
refused(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-4", messages=HELLO))
ok("refusals")

response = client.responses.create(model=MODEL, input="Say hello.", max_output_tokens=64)
assert response.output_text and response.usage.output_tokens > 0 and response.tools == [], response
ok("responses")

parsed = client.responses.parse(model=MODEL, input="Say hello.", text_format=Boat, max_output_tokens=200)
assert parsed.output_parsed.masts in (1, 2, 3), parsed
ok("responses: structured output")

many = {
    "type": "object",
    "properties": {"all": {"type": "array", "minItems": 60, "items": {"enum": ["a", "b"]}}},
    "required": ["all"],
    "additionalProperties": False,
}
form = {"format": {"type": "json_schema", "name": "many", "schema": many, "strict": True}}
cut = client.responses.create(model=MODEL, input="Say hello.", text=form, max_output_tokens=16)
assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens", cut
ok("responses: cut")

ENDS = ("response.completed", "response.incomplete")
with client.responses.stream(model=MODEL, input="Say hello.", max_output_tokens=48) as stream:
    events = list(stream)
assert events[-1].type in ENDS, events[-1]
final = events[-1].response
numbers = [event.sequence_number for event in events if getattr(event, "sequence_number", None) is not None]
assert numbers == sorted(numbers) and len(numbers) > 5, numbers
said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
assert said and said.strip() == final.output_text.strip(), (said, final)
ok("responses: stream")

with client.responses.stream(
    model=MODEL, input="Say hello.", tools=[{"type": "function", **TOOL}], max_output_tokens=48
) as stream:
    events = list(stream)
assert events[-1].type in ENDS, events[-1]
ok("responses: tools")
