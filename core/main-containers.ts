import type { ContainerWindow, Window } from "./contract/window.ts";

/**
 * The containers of a service that its requests are served by and that decisions size: one of each pod. A proxy or a log
 * shipper beside it has limits and use of its own, and says nothing about how full the service is.
 */
export function mainContainers({ containers }: Pick<Window, "containers">): readonly ContainerWindow[] {
  return containers.some(({ sidecar }) => sidecar === true)
    ? containers.filter(({ sidecar }) => sidecar !== true)
    : containers;
}
