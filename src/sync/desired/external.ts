/** Reads `kind: External`: a resource of another owner, looked up by slug, id or name. */
import { kindNames, kinds } from '../../model/kinds/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { ExternalResource } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';

const ways = ['slug', 'id', 'name'] as const;
const fields = ['kind', ...ways];

/** Returns undefined after reporting why it cannot be used. */
export function readExternal(
  manifest: Manifest,
  report: (fault: SourceFault) => void,
): ExternalResource | undefined {
  const { place, spec, name, workspace } = manifest;
  const refuse = (segments: string[], message: string, fix?: string): undefined => {
    report(place.fault(segments, 'external', message, fix));
    return undefined;
  };
  const unknown = Object.keys(spec).find((key) => !fields.includes(key));
  if (unknown !== undefined) {
    const fix = didYouMean(unknown, fields) ?? `known are ${fields.join(', ')}`;
    return refuse(['spec', unknown], `an External has no field "${unknown}" in its spec`, fix);
  }
  if (manifest.absent) return refuse(['state'], 'an External cannot have a state');
  const kind = kindNames.find((known) => known === spec.kind);
  if (kind === undefined) {
    const fix = didYouMean(String(spec.kind), kindNames) ?? `kinds are ${kindNames.join(', ')}`;
    return refuse(['spec', 'kind'], 'spec.kind must be a kind', fix);
  }
  if (kinds[kind].workspaced === 'none' && workspace !== null) {
    return refuse(['metadata', 'workspace'], `a ${kind} belongs to no workspace`);
  }
  const [by, ...others] = ways.filter((way) => spec[way] !== undefined);
  const lookup = by === undefined ? undefined : spec[by];
  if (by === undefined || others.length > 0 || typeof lookup !== 'string' || lookup === '') {
    return refuse(
      ['spec'],
      'an External needs exactly one of spec.slug, spec.id and spec.name, a string',
    );
  }
  return { identity: { kind, workspace, name }, position: place.start, by, lookup };
}
