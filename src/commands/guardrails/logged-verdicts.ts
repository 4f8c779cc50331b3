/** Reads from the log how guardrails have decided, and tells what other actions would have done with the same verdicts. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import type { GuardrailDefinition } from '../../guardrails/guardrail.ts';
import type { GuardrailActions } from '../../model/guardrails/guardrail.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { refusalAsFailure } from '../status/suspend.ts';

/** `monitored`: failed, but only recorded. */
const verdicts = ['passed', 'monitored', 'failed', 'denied'] as const;
type LoggedVerdict = (typeof verdicts)[number];
type Counts = Readonly<Record<LoggedVerdict, number>>;

/** How requests of the log would be decided otherwise. */
interface LoggedChange {
  readonly from: LoggedVerdict;
  readonly to: LoggedVerdict;
  readonly requests: number;
}

/** The log of one guardrail; `verdicts` is null for a guardrail that the server does not have. */
export interface LoggedGuardrail {
  readonly name: string;
  readonly verdicts: Counts | null;
  /** Null where the checks differ, so that only a corpus tells what changes. */
  readonly changes: readonly LoggedChange[] | null;
  /** Whether requests that passed because a check could not judge them would fail too. */
  readonly isLeast: boolean;
}

export interface LiveGuardrail {
  readonly id: string;
  readonly definition: GuardrailDefinition;
}

interface ComparedGuardrail {
  readonly name: string;
  readonly after: GuardrailDefinition;
  /** Null for a guardrail that the server does not have. */
  readonly live: LiveGuardrail | null;
}

export function compareWithLog(
  { name, after, live }: ComparedGuardrail,
  logged: ReadonlyMap<string, Counts>,
): LoggedGuardrail {
  if (live === null) return { name, verdicts: null, changes: null, isLeast: false };
  const counts = logged.get(live.id) ?? noVerdicts;
  const isLeast = failsUnjudged(after.actions) && !failsUnjudged(live.definition.actions);
  if (!isJudgedAlike(live.definition, after)) {
    return { name, verdicts: counts, changes: null, isLeast };
  }
  const to = verdictOfFailure(after.actions);
  const changes = verdicts
    .filter((from) => from !== 'passed' && from !== to && counts[from] > 0)
    .map((from) => ({ from, to, requests: counts[from] }));
  return { name, verdicts: counts, changes, isLeast };
}

const noVerdicts: Counts = { passed: 0, monitored: 0, failed: 0, denied: 0 };

/** Whether the same requests fail; what follows from a failure may differ. */
function isJudgedAlike(one: GuardrailDefinition, other: GuardrailDefinition): boolean {
  return isDeepStrictEqual(judgingPart(one), judgingPart(other));
}

function judgingPart({ checks, actions }: GuardrailDefinition) {
  const { fail_closed, scan_scope, sequential } = actions;
  const enabled = checks.filter(({ is_enabled: isEnabled }) => isEnabled !== false);
  return {
    checks: enabled.map(({ id, parameters = {} }) => ({ id, parameters })),
    failsClosed: fail_closed === true,
    scansAll: scan_scope === 'all_messages',
    isSequential: sequential === true,
  };
}

/** Whether a request fails that a check cannot judge. */
function failsUnjudged({ deny, on_unsupported, fail_closed }: GuardrailActions): boolean {
  return fail_closed === true || (deny === true && on_unsupported !== 'pass');
}

function verdictOfFailure({ mode, deny, async: isAsync }: GuardrailActions): LoggedVerdict {
  if (mode === 'monitor') return 'monitored';
  return deny === true && isAsync !== true ? 'denied' : 'failed';
}

const count = z.int().min(0);
const Page = z.object({
  total: count,
  data: z.array(
    z.object({
      guardrail: z.string(),
      guardrail_passed: count,
      guardrail_monitored: count,
      guardrail_failed: count,
      guardrail_denied: count,
    }),
  ),
});

const pageSize = 100;

/** Requests by id of the guardrail. `from` in milliseconds since the epoch. */
export async function readLoggedVerdicts(
  client: AdminClient,
  from: number,
  signal: AbortSignal,
): Promise<Map<string, Counts>> {
  const found = new Map<string, Counts>();
  for (let at = 0, total = 1; at * pageSize < total; at += 1) {
    const query = new URLSearchParams({
      time_of_generation_min: new Date(from).toISOString(),
      page_size: String(pageSize),
      current_page: String(at),
    });
    const path = `/admin/v2/analytics/groups/guardrail?${query}`;
    const { body } = await refusalAsFailure(client.request({ method: 'GET', path, signal }));
    const page = Page.safeParse(body);
    if (!page.success) {
      throw new Failure(
        'unreachable',
        'the server answers no verdicts of guardrails; is it of the same version?',
      );
    }
    total = page.data.total;
    for (const one of page.data.data) {
      found.set(one.guardrail, {
        passed: one.guardrail_passed,
        monitored: one.guardrail_monitored,
        failed: one.guardrail_failed,
        denied: one.guardrail_denied,
      });
    }
  }
  return found;
}

export function loggedText(logged: LoggedGuardrail): string {
  const { name, verdicts: counts, changes, isLeast } = logged;
  if (counts === null) return `${name}: not on the server, so it has judged nothing\n`;
  const requests = verdicts.reduce((sum, verdict) => sum + counts[verdict], 0);
  const { passed, monitored, failed, denied } = counts;
  const figures = `${passed} passed, ${monitored} failed in mode monitor, ${failed} failed, ${denied} were denied`;
  const lines = [`${name}: of ${requests} requests in the log ${figures}`];
  if (changes === null) {
    lines.push('  its checks change, and the log has no bodies: judge a corpus');
  } else {
    const least = isLeast ? 'at least ' : '';
    for (const { from, to, requests: some } of changes) {
      lines.push(`  ${least}${some} would change: ${from} → ${to}`);
    }
  }
  return `${lines.join('\n')}\n`;
}
