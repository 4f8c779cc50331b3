/** Checks that the providers which configs name by slug are declared, where everything is declared. */
import { mayHaveProviderSlug } from '../../model/kinds/default-slugs.ts';
import { nearest } from '../../suggest.ts';
import { type ExternalResource, type Identity, identityKey } from '../resources/resource-set.ts';
import type { Declaration } from '../validation/declaration.ts';
import { formatPath } from '../validation/spec-faults.ts';
import type { ReferenceReports } from './identities.ts';

interface DeclaredProvider {
  readonly identity: Identity;
  /** Null where the manifest sets no slug. */
  readonly slug: string | null;
  readonly displayName: string;
}

/** The providers of one workspace. */
interface Census {
  readonly providers: DeclaredProvider[];
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
      const written = typeof slug === 'string' ? slug : null;
      this.#censusOf(identity.workspace).providers.push({ identity, slug: written, displayName });
    }
    for (const { identity, by, lookup } of externals) {
      if (identity.kind !== 'Provider') continue;
      const census = this.#censusOf(identity.workspace);
      if (by === 'slug') census.providers.push({ identity, slug: lookup, displayName: '' });
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
    const added = new Map(references.map((identity) => [identityKey(identity), identity]));
    const census = this.#byWorkspace.get(workspace);
    if (census === undefined || workspace === null) return [...references];
    for (const { slug, written } of namedProviders) {
      const found = census.providers.find((provider) => mayHaveSlug(provider, slug));
      if (found !== undefined) added.set(identityKey(found.identity), found.identity);
      else if (census.isClosed && isComplete) {
        const message = `${formatPath(written)} names the provider "@${slug}", which workspace ${workspace} does not declare`;
        const fix = fixFor(slug, census.providers);
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
      census = { providers: [], isClosed: false };
      this.#byWorkspace.set(workspace, census);
    }
    return census;
  }
}

function mayHaveSlug({ identity, slug, displayName }: DeclaredProvider, named: string): boolean {
  return slug === null ? mayHaveProviderSlug(named, identity.name, displayName) : slug === named;
}

function fixFor(slug: string, providers: readonly DeclaredProvider[]): string {
  const known = providers.map((provider) => provider.slug ?? provider.identity.name);
  const near = nearest(slug, known);
  return near === undefined
    ? 'declare a Provider with this slug, or add an External for it'
    : `did you mean "@${near}"?`;
}
