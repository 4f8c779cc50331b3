/** Knows how an ApiKey manifest says where the value of a new key goes. */

import { didYouMean } from '../../suggest.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { DesiredResource } from '../spec/resource-set.ts';
import { isMap } from '../yaml/map-fields.ts';
import type { Manifest } from './manifest.ts';

const defaultMode = 0o600;
const futureSinks = ['kubernetes', 'vault', 'age'];
const pathLengthMax = 255;

/** Takes `secretOutput` from a spec; null when it has none, or a wrong one, which is reported. */
export function readSecretTarget(
  manifest: Manifest,
  key: string,
  report: (fault: SourceFault) => void,
): DesiredResource['secretOutput'] {
  const refuse = (below: string[], message: string, fix?: string): null => {
    const segments = ['spec', key, ...below];
    report(manifest.place.fault(segments, 'secret-output', message, fix));
    return null;
  };
  const value = manifest.spec[key];
  const example = 'write secretOutput: {file: {path: bot.key}}';
  if (!isMap(value)) return refuse([], 'secretOutput must be a map', example);
  for (const sink of Object.keys(value)) {
    if (futureSinks.includes(sink)) {
      return refuse([sink], `secretOutput.${sink} is not available yet in this version`, example);
    }
    if (sink !== 'file') return refuse([sink], `secretOutput has no field "${sink}"`, example);
  }
  const { file } = value;
  if (!isMap(file)) return refuse([], 'secretOutput.file must be a map', example);
  const extra = Object.keys(file).find((field) => field !== 'path' && field !== 'mode');
  if (extra !== undefined) {
    const fix = didYouMean(extra, ['path', 'mode']);
    return refuse(['file', extra], `secretOutput.file has no field "${extra}"`, fix);
  }
  const wrongPath = pathFault(file.path);
  if (wrongPath !== undefined) {
    const fix = 'give a path inside the secrets folder, such as support/bot.key';
    return refuse(['file', 'path'], `secretOutput.file.path ${wrongPath}`, fix);
  }
  const mode = readMode(file.mode);
  if (mode === undefined) {
    const message = 'secretOutput.file.mode must be an octal text readable by its owner';
    return refuse(['file', 'mode'], message, 'write mode: "0600", in quotes');
  }
  return { path: String(file.path), mode };
}

function pathFault(path: unknown): string | undefined {
  if (typeof path !== 'string' || path === '') return 'is required';
  if (path.length > pathLengthMax) return `must have at most ${pathLengthMax} characters`;
  if (!/^[A-Za-z0-9._/-]+$/.test(path))
    return 'may hold letters, digits, ".", "_", "-" and "/" only';
  if (path.startsWith('/')) return 'must be relative to the secrets folder';
  const parts = path.split('/');
  if (parts.includes('..') || parts.includes('.') || parts.includes('')) {
    return 'must not hold "..", "." or empty parts';
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
