import type { Duplicates, Folders, HubRepo, HubVariant, HubVariants, LibraryModel } from "@/wire/wire";

import type { CallTable } from "./calls";
import { libraryModel } from "./data";
import { fileBytes, type MachineName, planFor } from "./planning";
import { startMove } from "./pulls";
import { refuse } from "./refuse";
import type { World } from "./world";

const GIB = 1024 ** 3;

/** A model that LM Studio keeps, and one of Ollama's. */
export function foreignModels(where: MachineName): LibraryModel[] {
  const { licence: _licence, ...mistral } = libraryModel("mistral-small-24b", "Q4_K_M", where);
  const { licence: _other, ...gemma } = libraryModel("gemma-3-4b", "Q4_K_M", where);
  return [
    {
      ...gemma,
      id: "ollama:gemma3:4b",
      name: "Gemma 3 4B",
      keeper: "ollama",
      freesBytes: 0,
      path: "/home/ada/.ollama/models/blobs/sha256-aeda25e63ebd698fab8638ffb778e68bed908b960d39d0becc650fa981609d25",
    },
    {
      ...mistral,
      id: "lmstudio:lmstudio-community/Mistral-Small-GGUF/Mistral-Small-Q4_K_M.gguf",
      name: "Mistral Small",
      keeper: "lmStudio",
      freesBytes: 0,
      path: "/home/ada/.lmstudio/models/lmstudio-community/Mistral-Small-GGUF/Mistral-Small-Q4_K_M.gguf",
    },
  ];
}

const REPOS: HubRepo[] = [
  {
    id: "unsloth/Qwen3-8B-GGUF",
    downloads: 214_806,
    likes: 312,
    gate: "open",
    licence: "apache-2.0",
    changed: "2026-08-14",
    quants: ["BF16", "IQ4_XS", "Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0"],
  },
  {
    id: "bartowski/Qwen_Qwen3-4B-GGUF",
    downloads: 41_930,
    likes: 57,
    gate: "open",
    licence: "apache-2.0",
    changed: "2026-05-02",
    quants: ["Q4_K_M", "Q6_K"],
  },
  {
    id: "harbour-lab/Qwen3-Pilot-32B-GGUF",
    downloads: 3_118,
    likes: 21,
    gate: "manual",
    licence: "other",
    changed: "2026-10-29",
    quants: ["Q4_K_M"],
  },
];

function variants(world: World, repo: string): HubVariants {
  const found = REPOS.find((one) => one.id === repo) ?? refuse("hubNotFound", ["chooseOtherModel"], { repo });
  const of = repo.includes("4B") ? "qwen3-4b" : repo.includes("32B") ? "llama-3.3-70b" : "qwen3-8b";
  const name = repo.split("/")[1]?.replace(/-GGUF$/, "") ?? repo;
  const list = found.quants.map((quant): HubVariant => {
    const split = quant === "BF16";
    const path = split ? `BF16/${name}-BF16-00001-of-00002.gguf` : `${name}-${quant}.gguf`;
    const id = `${repo}/${path}`;
    return {
      id,
      quant,
      path,
      files: split ? 2 : 1,
      bytes: fileBytes(of, quant),
      state: world.models.some((one) => one.id === id) ? "onDisk" : "absent",
    };
  });
  return {
    repo,
    commit: "3f1c9a0b7d2e4c5f60718293a4b5c6d7e8f90123",
    url: `https://huggingface.co/${repo}`,
    gate: found.gate,
    ...(found.licence ? { licence: found.licence } : {}),
    variants: list.toSorted((a, b) => a.bytes - b.bytes),
  };
}

function folders(world: World): Folders {
  const of = (keeper: LibraryModel["keeper"]) => world.models.filter((one) => one.keeper === keeper);
  const bytes = (models: readonly LibraryModel[]) => models.reduce((sum, one) => sum + one.bytes, 0);
  const foreign = (keeper: "lmStudio" | "ollama", path: string) => {
    const models = of(keeper);
    return models.length === 0
      ? []
      : [{ keeper, path, models: models.length, bytes: bytes(models), named: false }];
  };
  return {
    library: world.library,
    usedBytes: bytes(of(undefined)),
    freeBytes: 182 * GIB,
    ...(world.movingTo === undefined ? {} : { movingTo: world.movingTo }),
    others: [
      ...foreign("lmStudio", "/home/ada/.lmstudio/models"),
      ...foreign("ollama", "/home/ada/.ollama/models"),
      ...world.folders.map((path) => ({
        keeper: "folder" as const,
        path,
        models: 0,
        bytes: 0,
        named: true,
        ...(path.includes("unplugged") ? { problems: [{ code: "folderGone", params: { path } }] } : {}),
      })),
    ],
  };
}

function duplicates(world: World): Duplicates {
  const foreign = world.models.find((one) => one.keeper === "ollama");
  if (!foreign) return { same: [], savableBytes: 0, openFiles: 0, openBytes: 0 };
  const same = {
    sha256: "aeda25e63ebd698fab8638ffb778e68bed908b960d39d0becc650fa981609d25",
    bytes: foreign.bytes,
    savableBytes: foreign.bytes,
    copies: [
      { model: "gemma-3-4b:Q4_K_M", path: "/home/ada/Downloads/gemma-3-4b-it-Q4_K_M.gguf" },
      { model: foreign.id, path: foreign.path, keeper: "ollama" as const },
    ],
  };
  return {
    same: [same],
    savableBytes: same.savableBytes,
    openFiles: world.compared ? 0 : 2,
    openBytes: world.compared ? 0 : 9.4 * GIB,
    ...(world.comparing ? { comparing: world.comparing } : {}),
  };
}

type Shelves = Pick<
  CallTable,
  | "models/duplicates"
  | "models/stopComparing"
  | "folders/read"
  | "folders/add"
  | "folders/remove"
  | "folders/move"
  | "hub/search"
  | "hub/variants"
  | "hub/fit"
>;

/** What lies elsewhere, what lies here twice, and what the hub has. */
export function shelfCalls(world: World): Shelves {
  return {
    "models/duplicates": ({ compare }) => {
      if (compare && !world.comparing && !world.compared) world.compare(9.4 * GIB);
      return duplicates(world);
    },
    "models/stopComparing": () => {
      world.stop("compare");
      world.comparing = undefined;
      world.emit({ type: "libraryChanged" });
      return duplicates(world);
    },
    "folders/read": () => folders(world),
    "folders/add": ({ path }) => {
      if (path.includes("nothing")) refuse("folderUnusable", ["retry"], { path });
      world.folders = [...world.folders.filter((one) => one !== path), path];
      world.emit({ type: "libraryChanged" });
      return folders(world);
    },
    "folders/remove": ({ path }) => {
      world.folders = world.folders.filter((one) => one !== path);
      world.emit({ type: "libraryChanged" });
      return folders(world);
    },
    "folders/move": ({ path }) => {
      if (path.includes("nothing")) refuse("folderUnusable", ["retry"], { path });
      world.movingTo = path;
      startMove(world, path);
      world.emit({ type: "libraryChanged" });
      return { id: "moveLibrary" };
    },
    "hub/search": ({ words }) => {
      if (world.offline) refuse("hubUnreachable", ["checkConnection", "retry"], { host: "huggingface.co" });
      const wanted = words.toLowerCase().split(/\s+/);
      return {
        repos: REPOS.filter((one) => wanted.every((word) => one.id.toLowerCase().includes(word))),
        more: false,
      };
    },
    "hub/variants": ({ repo }) => variants(world, repo),
    "hub/fit": ({ repo, path }) => {
      const found = variants(world, repo);
      const variant = found.variants.find((one) => one.path === path) ?? refuse("unknownModel", []);
      if (found.gate !== "open" && world.token === "nowhere") {
        refuse("hubNeedsToken", ["setToken", "chooseOtherModel"], { repo, status: 401 });
      }
      const of = repo.includes("4B") ? "qwen3-4b" : "qwen3-8b";
      return { plan: planFor(of, variant.quant, {}, world.where), fetchedBytes: 131_072 };
    },
  };
}
