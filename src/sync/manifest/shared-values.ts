/** Knows the values that only one resource may have: slugs, files of key values, former names. */
import type { SourceFault } from '../source/source-files.ts';
import { identityKey, type Position } from '../spec/resource-set.ts';
import type { Declaration } from './declaration.ts';
import { placeText } from './identities.ts';

/** Reports each value that a second resource claims. */
export function refuseSharedValues(
  declarations: readonly Declaration[],
  report: (fault: SourceFault) => void,
): void {
  const seen = new Map<string, () => Position>();
  for (const { identity, place, previousNames, slug, secretOutput } of declarations) {
    const claim = (key: string, what: string, segments: string[]): void => {
      const first = seen.get(key);
      if (first === undefined) {
        seen.set(key, () => place.at(segments));
        return;
      }
      const message = `${what} is used twice, first at ${placeText(first())}`;
      report(place.fault(segments, 'duplicate', message, 'change one of the two'));
    };
    const { kind, workspace } = identity;
    if (typeof slug === 'string') {
      claim(`slug ${kind} ${slug}`, `the slug "${slug}"`, ['spec', 'slug']);
    }
    const path = secretOutput?.path;
    if (path !== undefined) claim(`file ${path}`, `the file ${path}`, ['spec', 'secretOutput']);
    previousNames.forEach((name, at) => {
      const key = identityKey({ kind, workspace, name });
      const segments = ['metadata', 'previousNames', `${at}`];
      claim(`former ${key}`, `the previous name ${key}`, segments);
    });
  }
}
