/** Writes the data of the detector of secrets, and the list of its rules, from the rules of gitleaks. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ruleIdsModule, secretRules } from './secret-rules.ts';

const read = (name: string): string => readFileSync(resolve(import.meta.dirname, name), 'utf8');
const rules = secretRules(read('gitleaks.toml'), read('LICENSE'));
const files = {
  'src/guardrails/detectors/secrets/gitleaks-rules.json': `${JSON.stringify(rules, null, 1)}\n`,
  'src/model/guardrails/secret-rule-ids.ts': ruleIdsModule(rules),
};
for (const [target, text] of Object.entries(files)) {
  writeFileSync(resolve(import.meta.dirname, '../..', target), text);
  process.stdout.write(`wrote ${target}\n`);
}
