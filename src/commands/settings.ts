/** Knows the `settings` command: what every setting is, where it came from, and what is wrong. */
import { Failure } from '../failure.ts';
import { settingsJsonSchema, settingsListing, settingsMarkdown } from '../settings/describe.ts';
import { faultList, inspectSettings } from '../settings.ts';
import type { Command } from './shared/command.ts';

interface SettingsOptions {
  readonly 'json-schema': boolean | undefined;
  readonly markdown: boolean | undefined;
  readonly check: boolean | undefined;
  readonly 'strict-settings': boolean | undefined;
}

export const settings: Command<SettingsOptions> = {
  usage: 'settings',
  summary: 'Show every setting, its value and where it came from',
  examples: [
    ['gatewright settings', 'List all settings; secrets are shown as their origin only'],
    ['gatewright settings --check', 'Say what is wrong, all at once; exit code 5 if anything is'],
    ['gatewright settings --check --strict-settings', 'Count mistyped names as wrong too'],
    ['gatewright settings --markdown > SETTINGS.md', 'Write the reference'],
    ['gatewright settings --json-schema', 'Print a JSON Schema of the environment'],
  ],
  options: (yargs) =>
    yargs
      .option('json-schema', { type: 'boolean', describe: 'Print a JSON Schema' })
      .option('markdown', { type: 'boolean', describe: 'Print the reference' })
      .option('check', { type: 'boolean', describe: 'Only say what is wrong' })
      .option('strict-settings', {
        type: 'boolean',
        describe: 'Names that look like a mistyped setting are errors',
      })
      .conflicts({ 'json-schema': ['markdown', 'check'], markdown: ['check'] }),
  run: async (options, io) => {
    if (options['json-schema']) {
      io.stdout.writeJson(settingsJsonSchema());
      return 'success';
    }
    if (options.markdown) {
      io.stdout.writeExact(settingsMarkdown());
      return 'success';
    }
    const inspection = inspectSettings(undefined, {
      cwd: io.cwd,
      strict: options['strict-settings'] ?? false,
    });
    if (!options.check) io.stdout.write(settingsListing(inspection.given));
    for (const warning of inspection.settings.warnings) io.stderr.write(`warning: ${warning}\n`);
    if (inspection.faults.length > 0) {
      throw new Failure('invalidInput', faultList(inspection.faults));
    }
    if (options.check) io.stdout.write(`${inspection.given.size} settings are set, all valid\n`);
    return 'success';
  },
};
