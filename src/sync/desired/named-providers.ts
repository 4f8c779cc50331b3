/** Checks that the providers which configs name by slug are declared, where everything is declared. */
import { defaultSlug, isGeneratedProviderSlug } from '../../model/kinds/default-slugs.ts';
import { nearest } from '../../suggest.ts';
import { type ExternalResource, type Identity, identityKey } from '../resources/resource-set.ts';
import type { Declaration } from '../validation/declaration.ts';
import { formatPath } from '../validation/spec-faults.ts';
import type { ReferenceReports } from './identities.ts';

/** The providers of one workspace. */
interface Census {
  /** By slug; the default slug where the manifest sets none. */
  readonly bySlug: Map<string, Identity>;
  /** Providers whose manifest sets no slug; older ones have a generated slug. */
  readonly withoutSlug: { readonly identity: Identity; readonly displayName: string }[];
  /**
   * Whether the source declares the workspace itself and every provider by slug, so that others are typing
   * errors. A workspace that is only an External has providers of other owners.
   */
  isClosed: boolean;
}

/** The providers that a source declares. */
export class DeclaredProviders {
  readonly #byWorkspace = new Map<string | null, Census>();
  readonly #reports: ReferenceReports;

  constructor(
    declarations: readonly Declaration[],
    externals: readonly ExternalResource[],
    reports: ReferenceReports,
  ) {
    this.#reports = reports;
    for (const { identity, absent } of declarations) {
      if (identity.kind === 'Workspace' && !absent) this.#censusOf(identity.name).isClosed = true;
    }
    for (const { identity, absent, slug, displayName } of declarations) {
      if (identity.kind !== 'Provider' || absent) continue;
      const { bySlug, withoutSlug } = this.#censusOf(identity.workspace);
      if (slug === undefined) withoutSlug.push({ identity, displayName });
      bySlug.set(typeof slug === 'string' ? slug : defaultSlug(identity.name), identity);
    }
    for (const { identity, by, lookup } of externals) {
      if (identity.kind !== 'Provider') continue;
      const census = this.#censusOf(identity.workspace);
      if (by === 'slug') census.bySlug.set(lookup, identity);
      else census.isClosed = false;
    }
  }

  /**
   * Adds the declared providers that a config names by slug to its references. Names without a provider are
   * reported.
   *
   * @param isComplete false when something could not be identified, so what seems missing may exist
   */
  addNamed(
    references: readonly Identity[],
    { identity: { workspace }, place, namedProviders }: Declaration,
    isComplete: boolean,
  ): Identity[] {
    if (namedProviders.length === 0 || workspace === null) return [...references];
    const census = this.#censusOf(workspace);
    const added = new Map(references.map((identity) => [identityKey(identity), identity]));
    for (const { slug, written } of namedProviders) {
      const found = findProvider(census, slug);
      if (found !== undefined) added.set(identityKey(found), found);
      else if (census.isClosed && isComplete) {
        const message = `${formatPath(written)} names the provider "@${slug}", which workspace ${workspace} does not declare`;
        const fix = fixFor(slug, census);
        this.#reports.report(place.fault(written, 'unknown-provider', message, fix));
      } else if (census.isClosed) {
        const message = `${formatPath(written)} names the provider "@${slug}", which is not declared in any readable file`;
        this.#reports.reportUnread(place.fault(written, 'unread-reference', message));
      }
    }
    return [...added.values()];
  }

  #censusOf(workspace: string | null): Census {
    let census = this.#byWorkspace.get(workspace);
    if (census === undefined) {
      census = { bySlug: new Map(), withoutSlug: [], isClosed: false };
      this.#byWorkspace.set(workspace, census);
    }
    return census;
  }
}

function findProvider({ bySlug, withoutSlug }: Census, slug: string): Identity | undefined {
  const found = bySlug.get(slug);
  if (found !== undefined) return found;
  return withoutSlug.find(({ displayName }) => isGeneratedProviderSlug(slug, displayName))
    ?.identity;
}

function fixFor(slug: string, { bySlug }: Census): string {
  const near = nearest(slug, bySlug.keys());
  return near === undefined
    ? 'declare a Provider with this slug, or add an External for it'
    : `did you mean "@${near}"?`;
}
