/** Defines the `settings` command, which lists settings with value, origin and faults. */
import { Failure } from '../failure.ts';
import {
  settingsDocument,
  settingsJsonSchema,
  settingsListing,
  settingsMarkdown,
} from '../settings/describe.ts';
import { faultList } from '../settings/reading/fault.ts';
import { inspectSettings } from '../settings.ts';
import { readVschema } from '../store/migrations/migration-files.ts';
import type { Command, CommandIo } from './shared/command.ts';
import { outputForm, switchOption } from './shared/option.ts';

interface SettingsOptions {
  readonly output: 'text' | 'json' | 'markdown' | 'json-schema';
  readonly check: boolean;
  readonly vschema: boolean;
  readonly 'strict-settings': boolean;
}

export const settings: Command<SettingsOptions> = {
  examples: [
    ['gatewright settings', 'List all settings; secrets show only their origin'],
    ['gatewright settings --check', 'List all faults; exit code 5 if there are any'],
    ['gatewright settings --check --strict-settings', 'Count mistyped names as wrong too'],
    ['gatewright settings -o markdown > SETTINGS.md', 'Write the reference'],
    ['gatewright settings -o json-schema', 'Print a JSON Schema of the environment'],
    ['gatewright settings --vschema', 'Print the keyspaces of a sharded Vitess'],
  ],
  options: {
    output: outputForm(
      ['text', 'json', 'markdown', 'json-schema'],
      'Values as text or JSON, or the reference as Markdown or JSON Schema',
    ),
    check: switchOption('Only list faults; exit code 5 if there are any'),
    vschema: switchOption('Only print the vschema with which Vitess shards the tables'),
    'strict-settings': switchOption('Names that look like a mistyped setting are errors'),
  },
  run: async (options, io) => {
    const { output } = options;
    if (options.vschema) {
      if (options.check || output !== 'text') throw new Failure('invalidInput', vschemaAlone);
      io.stdout.writeExact(readVschema());
      return 'success';
    }
    if (output === 'markdown' || output === 'json-schema') {
      if (options.check) throw new Failure('invalidInput', checkFormatFault);
      if (output === 'markdown') io.stdout.writeExact(settingsMarkdown());
      else io.stdout.writeJson(settingsJsonSchema());
      return 'success';
    }
    return showValues(options, io);
  },
};

const vschemaAlone = '--vschema is printed in its own form; leave out --check and --output';
const checkFormatFault = '--check supports only -o text and -o json';

function showValues(options: SettingsOptions, io: CommandIo): 'success' | 'invalidInput' {
  const { settings, faults, given } = inspectSettings(undefined, {
    cwd: io.cwd,
    strict: options['strict-settings'],
  });
  const { warnings } = settings;
  if (options.output === 'json') {
    const values = options.check ? {} : { settings: settingsDocument(given) };
    io.stdout.writeJson({ valid: faults.length === 0, faults, warnings, ...values });
    return faults.length === 0 ? 'success' : 'invalidInput';
  }
  if (!options.check) io.stdout.write(settingsListing(given));
  for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`);
  if (faults.length > 0) throw new Failure('invalidInput', faultList(faults));
  if (options.check) io.stdout.write(`${given.size} settings are set, all valid\n`);
  return 'success';
}
