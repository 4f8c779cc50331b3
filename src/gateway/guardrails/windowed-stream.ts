/** Judges the events of a stream in windows while they are sent to the caller. */
import { mergedChecks } from '../../guardrails/check-records.ts';
import { type HookResult, type Judgement, worstOf } from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { StreamWindow, type WindowText } from '../../guardrails/texts/stream-window.ts';
import type { WindowVerdict } from '../../guardrails/texts/windowed-text.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import type { ProviderHeaders } from '../../upstream/call.ts';
import { GatewayError, type GatewayErrorForm } from '../transfer/gateway-error.ts';
import { judgeCall, type subjectOf } from './guarded-request.ts';
import { denialResponse, trailerOf } from './guarded-response.ts';
import type { TextForms } from './text-forms.ts';

export interface WindowedStreamOptions {
  readonly guardrails: readonly Guardrail[];
  readonly forms: TextForms;
  readonly subject: ReturnType<typeof subjectOf>;
  readonly status: number;
  readonly now: number;
  readonly errorForm: GatewayErrorForm;
  readonly input: Judgement;
  /** Whether results follow the last event. */
  readonly hasTrailer: boolean;
}

/** Whether all guardrails that decide can judge a stream of these headers in windows. */
export function isWindowed(guardrails: readonly Guardrail[], headers: ProviderHeaders): boolean {
  const isPlain = headers['content-encoding'] === undefined;
  return isPlain && isEventStream(headers) && guardrails.every(({ window }) => window !== null);
}

export class WindowedStream {
  readonly #options: WindowedStreamOptions;
  readonly #window: StreamWindow;
  #judgement: Judgement = nothingJudgedYet;

  constructor(options: WindowedStreamOptions) {
    this.#options = options;
    const windows = options.guardrails.map(({ window }) => window!);
    const holdBytes = windows.reduce((sum, { overlap }) => sum + overlap, 0);
    const windowBytes = Math.max(2 * holdBytes, ...windows.map(({ bytes }) => bytes));
    const form = options.forms.response ?? 'unknown';
    this.#window = new StreamWindow({
      form,
      windowBytes,
      holdBytes,
      judge: (text) => this.#judge(text),
    });
  }

  /** The judgement of everything that has arrived. */
  get judgement(): Judgement {
    return this.#judgement;
  }

  /** Whether nothing more may be sent. */
  get isStopped(): boolean {
    return this.#window.stop !== null;
  }

  /** The events that may be sent; at the stop the reason for it. */
  async pass(bytes: Buffer): Promise<Buffer> {
    if (this.isStopped) return nothing;
    const passed = await this.#window.pass(bytes);
    return this.isStopped ? this.#ending() : passed;
  }

  async rest(): Promise<Buffer> {
    if (this.isStopped) return nothing;
    const last = await this.#window.rest();
    if (this.isStopped) return this.#ending();
    const { input, hasTrailer } = this.#options;
    return hasTrailer
      ? Buffer.concat([last, trailerOf(input.results, this.#judgement.results)])
      : last;
  }

  #ending(): Buffer {
    const { errorForm, input } = this.#options;
    const { body } =
      this.#window.stop === 'denied'
        ? denialResponse(errorForm, input.results, this.#judgement.results)
        : { body: Buffer.from(JSON.stringify({ error: unreadable() })) };
    const name = errorForm === 'anthropic' ? 'event: error\n' : '';
    return Buffer.from(`${name}data: ${body.toString('utf8')}\n\n`);
  }

  async #judge({ text, isAside }: WindowText): Promise<WindowVerdict> {
    const { guardrails, subject, status, now } = this.#options;
    const judgement = await judgeCall(
      guardrails,
      {
        ...subject,
        side: 'output',
        answer: { status, json: {} },
        passages: [{ path: ['text'], text, isAside }],
        lastCount: 1,
        unreadable: null,
        needsEdits: true,
      },
      now,
    );
    this.#judgement = joined(this.#judgement, judgement);
    const isKnown = judgement.stages.every((stage) => stage !== null);
    return {
      isDenied: judgement.isDenied,
      text: judgement.passages[0]!.text,
      stages: isKnown ? judgement.stages.map((stage) => stage![0] ?? []) : null,
    };
  }
}

const nothing = Buffer.alloc(0);
const nothingJudgedYet: Judgement = {
  results: [],
  passes: true,
  isDenied: false,
  verdicts: new Map(),
  checks: [],
  passages: [],
  stages: [],
  members: [],
};

/** Joins the results of each guardrail; the one that failed remains. */
function joined(one: Judgement, other: Judgement): Judgement {
  const results = other.results.map((result, at) => worseResult(one.results[at], result));
  return {
    ...other,
    results,
    passes: one.passes && other.passes,
    isDenied: one.isDenied || other.isDenied,
    verdicts: worstOf(one.verdicts, other.verdicts),
    checks: mergedChecks([...one.checks, ...other.checks]),
  };
}

function worseResult(one: HookResult | undefined, other: HookResult): HookResult {
  if (one === undefined) return other;
  const { verdict } = one;
  const worse = verdict ? other : one;
  return { ...worse, transformed: one.transformed || other.transformed };
}

function unreadable() {
  const message = 'The stream of the provider cannot be read, so guardrails cannot check it';
  const { code } = new GatewayError('answer_unreadable', message);
  return { message, type: 'answer_unreadable', param: null, code };
}
