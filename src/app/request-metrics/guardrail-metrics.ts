/** Counts what guardrails and their checks decided, and measures how long checks take. */
import { Counter, type Registry } from 'prom-client';
import type { RequestRecord } from '../../gateway/logs/request-record.ts';
import { knownCheckId } from '../../model/guardrails/guardrail-checks.ts';
import { TallyHistogram } from './tally-histogram.ts';

/** Upper bounds in seconds: embedded checks take milliseconds, remote ones up to their deadline. */
const checkBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class GuardrailMetrics {
  readonly #verdicts: Counter;
  readonly #checks: Counter;
  readonly #durations: TallyHistogram;

  constructor(register: Registry) {
    this.#verdicts = new Counter({
      name: 'gatewright_guardrail_verdicts_total',
      help: 'Inference requests checked by guardrails: passed, monitored, failed but allowed, or denied',
      labelNames: ['verdict'],
      registers: [register],
    });
    this.#checks = new Counter({
      name: 'gatewright_guardrail_checks_total',
      help: 'Checks of guardrails on inference requests and MCP calls: skipped, passed, unjudged or failed',
      labelNames: ['check', 'verdict'],
      registers: [register],
    });
    this.#durations = new TallyHistogram({
      name: 'gatewright_guardrail_check_seconds',
      help: 'Duration of the checks of guardrails',
      labelNames: ['check'],
      buckets: checkBuckets,
      register,
    });
  }

  observe({ guardrailVerdict, guardrailChecks }: RequestRecord): void {
    if (guardrailVerdict !== null) this.#verdicts.inc({ verdict: guardrailVerdict });
    for (const { check: id, verdict, duration_ms: ms } of guardrailChecks) {
      // Inline guardrails can name any check, so only known ones have a label of their own.
      const check = knownCheckId(id) ?? 'other';
      this.#checks.inc({ check, verdict });
      this.#durations.note(ms / 1000, check);
    }
  }
}
