/** Stores guardrails that contain every check of the catalogue, and reads which of them the log has for a request. */
import { expect } from 'vitest';
import { checkKinds } from '../../../src/model/guardrails/guardrail-check-kinds.ts';
import { refusedChecks } from '../../../src/model/guardrails/partner-checks.ts';
import type { TestServer } from '../server/server.ts';

/** Checks of one guardrail; the log has at most 100 of a request. */
const checksPerGuardrail = 40;
export const checkIds = [...new Set([...Object.keys(checkKinds), ...Object.keys(refusedChecks)])];
/** Checks that judge requests without their texts, or need parameters; any other has none. */
const parametersOf: Readonly<Record<string, object>> = {
  'default.regexMatch': { rule: 'canary', not: true },
  'default.regexReplace': { rule: 'nothing of this' },
  'default.contains': { words: ['canary'], operator: 'none' },
  'default.modelWhitelist': { models: ['m'] },
};

type Target = 'llm' | 'mcp_tools';

interface CensusGuardrail {
  readonly id: string;
  readonly slug: string;
}

/** Guardrails of a workspace that contain all checks together. */
export async function addCensusGuardrails(
  server: TestServer,
  workspaceId: string,
  target: Target = 'llm',
): Promise<CensusGuardrail[]> {
  const guardrails: CensusGuardrail[] = [];
  for (let at = 0; at < checkIds.length; at += checksPerGuardrail) {
    const { body } = await server.request('POST', '/v2/guardrails', {
      body: {
        name: `census ${at}`,
        target,
        workspace_id: workspaceId,
        checks: [{ id: 'default.notNull' }],
        actions: { scan_scope: 'all_messages' },
      },
    });
    // Parameters that are not valid are those of an older version: the check must say that it cannot judge.
    const checks = checkIds.slice(at, at + checksPerGuardrail).map((id) => ({
      id,
      parameters: { executeOnProxy: true, timeout: 50, ...parametersOf[id] },
    }));
    await server.database.db
      .updateTable('guardrails')
      .set({ checks: JSON.stringify(checks) })
      .where('id', '=', body.id)
      .execute();
    guardrails.push(body);
  }
  return guardrails;
}

/** The checks in the log entries of these traces that judged the side. */
export async function loggedChecks(
  server: TestServer,
  traces: readonly unknown[],
  side: 'input' | 'output',
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const trace of traces) {
    const find = async () =>
      (await server.request('GET', `/v1/logs?trace_id=${String(trace)}`)).body.data;
    await expect.poll(find).not.toHaveLength(0);
    for (const row of await find()) {
      for (const one of row.guardrail_checks) if (one.side === side) found.add(one.check);
    }
  }
  return found;
}

/** The checks of the catalogue that are missing. */
export function missingChecks(found: ReadonlySet<string>): string[] {
  return checkIds.filter((id) => !found.has(id));
}
