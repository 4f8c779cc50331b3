/** Reads `secretOutput` of an ApiKey manifest, the sink of the value of a new key. */

import { didYouMean } from '../../suggest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { isRemoteForm, placeFormFault, placeForms } from '../manifest/place-forms.ts';
import type { SecretTarget } from '../resources/secret-target.ts';
import type { SourceFault } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import type { ReadValues } from './secrets.ts';

const defaultMode = 0o600;
const pathLengthMax = 255;

/** Takes `secretOutput` from a spec; null when absent or invalid, which is reported. */
export function readSecretTarget(
  manifest: Manifest,
  key: string,
  { refuseTarget }: Pick<ReadValues, 'refuseTarget'>,
  report: (fault: SourceFault) => void,
): SecretTarget | null {
  const refuse: Refuse = (below, message, fix) => {
    const segments = ['spec', key, ...below];
    report(manifest.place.fault(segments, 'secret-output', message, fix));
    return null;
  };
  const value = manifest.spec[key];
  const example = 'write secretOutput: {file: {path: bot.key}}';
  if (!isMap(value)) return refuse([], 'secretOutput must be a map', example);
  const [sink, ...others] = Object.keys(value);
  const unknown = [sink, ...others].find((name) => name !== undefined && !sinks.includes(name));
  if (unknown !== undefined) {
    const fix = didYouMean(unknown, sinks) ?? `known are ${sinks.join(', ')}`;
    return refuse([unknown], `secretOutput has no field "${unknown}"`, fix);
  }
  if (sink === undefined || others.length > 0) {
    return refuse([], `secretOutput needs one of ${sinks.join(', ')}`, example);
  }
  if (!isRemoteForm(sink)) return readFile(value.file, refuse, example);
  const wrong = placeFormFault(sink, value[sink]);
  if (wrong !== undefined) {
    const below = wrong.at === undefined ? [sink] : [sink, wrong.at];
    return refuse(below, `secretOutput.${wrong.message}`, wrong.fix);
  }
  const target = { sink, ...(value[sink] as object) } as SecretTarget;
  const refusal = refuseTarget(target);
  if (refusal === null) return target;
  return refuse([sink, refusal.at], `secretOutput.${sink}: ${refusal.message}`, refusal.fix);
}

const sinks = [
  'file',
  ...Object.entries(placeForms).flatMap(([name, { isWritable }]) => (isWritable ? [name] : [])),
];

type Refuse = (below: string[], message: string, fix?: string) => null;

function readFile(file: unknown, refuse: Refuse, example: string): SecretTarget | null {
  if (!isMap(file)) return refuse([], 'secretOutput.file must be a map', example);
  const extra = Object.keys(file).find((field) => field !== 'path' && field !== 'mode');
  if (extra !== undefined) {
    const fix = didYouMean(extra, ['path', 'mode']);
    return refuse(['file', extra], `secretOutput.file has no field "${extra}"`, fix);
  }
  const wrongPath = pathFault(file.path);
  if (wrongPath !== undefined) {
    const fix = 'use a path inside the secrets folder, such as support/bot.key';
    return refuse(['file', 'path'], `secretOutput.file.path ${wrongPath}`, fix);
  }
  const mode = readMode(file.mode);
  if (mode === undefined) {
    const message = 'secretOutput.file.mode must be an octal text readable by its owner';
    return refuse(['file', 'mode'], message, 'write mode: "0600", in quotes');
  }
  return { sink: 'file', path: String(file.path), mode };
}

function pathFault(path: unknown): string | undefined {
  if (typeof path !== 'string' || path === '') return 'is required';
  if (path.length > pathLengthMax) return `must have at most ${pathLengthMax} characters`;
  if (!/^[A-Za-z0-9._/-]+$/.test(path))
    return 'may contain only letters, digits, ".", "_", "-" and "/"';
  if (path.startsWith('/')) return 'must be relative to the secrets folder';
  const parts = path.split('/');
  if (parts.includes('..') || parts.includes('.') || parts.includes('')) {
    return 'must not contain "..", "." or empty parts';
  }
  return parts.some((part) => part.startsWith('.')) ? 'must not name hidden files' : undefined;
}

function readMode(mode: unknown): number | undefined {
  if (mode === undefined) return defaultMode;
  if (typeof mode !== 'string' || !/^0?[0-7]{3}$/.test(mode)) return undefined;
  const bits = Number.parseInt(mode, 8);
  const isReadableByOwner = (bits & 0o400) !== 0;
  const isWritableByOthers = (bits & 0o022) !== 0;
  return isReadableByOwner && !isWritableByOthers ? bits : undefined;
}
