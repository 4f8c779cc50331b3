"""Translates the cases of standard input with LiteLLM at a provider of its own, one JSON line each way."""

import asyncio
import json
import os
import sys
import threading
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_LOG"] = "ERROR"

import litellm  # noqa: E402
from litellm.google_genai import agenerate_content_stream, generate_content  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
# Chats of OpenAI's models go to chats, as every provider of that format has them.
litellm.use_chat_completions_url_for_anthropic_messages = True

cases = {}
sent = {}


class Provider(BaseHTTPRequestHandler):
    """Answers each case with its bytes and keeps the request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        case = self.path.split("/")[1]
        length = int(self.headers.get("content-length") or 0)
        sent.setdefault(case, []).append(json.loads(self.rfile.read(length)))
        body = b64decode(cases[case]["answer"])
        self.send_response(200)
        self.send_header("content-type", cases[case]["contentType"])
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def as_json(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, bytes):
        return {"bytes": value.decode("utf-8")}
    return value


def call(case, base):
    request = case["request"]
    target = {"api_key": "k", "api_base": f"{base}/{case['id']}", "num_retries": 0, "max_retries": 0}
    if case["model"].startswith("bedrock/"):
        target["aws_region_name"] = "us-east-1"
        target["aws_bedrock_runtime_endpoint"] = target.pop("api_base")
    request = {name: value for name, value in request.items() if name not in ("model", "stream")}
    if case["from"] == "chat":
        return litellm.completion(model=case["model"], stream=case["stream"], **request, **target)
    if case["from"] == "messages":
        return litellm.anthropic.messages.create(
            model=case["model"], stream=case["stream"], **request, **target
        )
    config = dict(request.pop("generationConfig", {}))
    if case["stream"]:
        return asyncio.run(events_of(model=case["model"], config=config, **request, **target))
    return generate_content(model=case["model"], config=config, **request, **target)


async def events_of(**options):
    return [event async for event in await agenerate_content_stream(**options)]


def run(case, base):
    result = {"id": case["id"]}
    try:
        answer = call(case, base)
        if case["stream"]:
            result["events"] = [as_json(event) for event in answer]
        else:
            result["answer"] = as_json(answer)
    except Exception as error:  # noqa: BLE001
        result["error"] = f"{type(error).__name__}: {error}"[:500]
    result["sent"] = (sent.get(case["id"]) or [None])[0]
    return json.dumps(result, default=str)


def main():
    for line in sys.stdin:
        case = json.loads(line)
        cases[case["id"]] = case
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with ThreadPoolExecutor(4) as pool:
        for line in pool.map(lambda case: run(case, base), list(cases.values())):
            output.write(f"{line}\n")
    output.close()


main()
