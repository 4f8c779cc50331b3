/** Reports values that must be unique: slugs, key destinations, previous names, the default. */

import { identityKey, placeText } from '../resources/resource-set.ts';
import { targetText } from '../resources/secret-target.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { Declaration } from '../validation/declaration.ts';

/** Reports each value that a second resource claims, with both positions. */
export function refuseSharedValues(
  declarations: readonly Declaration[],
  report: (fault: SourceFault, claimants: readonly Declaration[]) => void,
): void {
  const seen = new Map<string, { readonly holder: Declaration; readonly segments: string[] }>();
  for (const declaration of declarations) {
    const { identity, place, previousNames, slug, secretOutput, isDefault } = declaration;
    const claim = (key: string, what: string, segments: string[]): void => {
      const first = seen.get(key);
      if (first === undefined) {
        seen.set(key, { holder: declaration, segments });
        return;
      }
      const { holder } = first;
      const message = `${what} is used twice, first at ${placeText(holder.place.at(first.segments))}`;
      const fault = place.fault(segments, 'duplicate', message, 'change one of the two');
      report(fault, [holder, declaration]);
    };
    const { kind, workspace } = identity;
    if (typeof slug === 'string') {
      // Provider slugs are unique in their workspace, all others in the organisation.
      const within = kind === 'Provider' ? `${kind} ${workspace}` : kind;
      claim(`slug ${within} ${slug}`, `the slug "${slug}"`, ['spec', 'slug']);
    }
    if (isDefault) {
      const within = `${kind} ${workspace ?? ''}`;
      claim(`default ${within}`, 'the default', ['spec', 'isDefault']);
    }
    if (secretOutput !== null) {
      const target = targetText(secretOutput);
      claim(`target ${target}`, `the secretOutput ${target}`, ['spec', 'secretOutput']);
    }
    previousNames.forEach((name, at) => {
      const key = identityKey({ kind, workspace, name });
      const segments = ['metadata', 'previousNames', `${at}`];
      claim(`former ${key}`, `the previous name ${key}`, segments);
    });
  }
}
