import { ChevronLeft, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import type { Branch } from "@/wire/wire";

/** ‹ 2/3 ›: the ways that a conversation went from one place. */
export function BranchNav({
  branch,
  onShow,
}: {
  branch: Branch;
  onShow: ((message: string) => void) | undefined;
}) {
  const { t } = useTranslation();
  const to = (message: string | undefined) => message !== undefined && onShow?.(message);
  return (
    <span role="group" aria-label={t("chat.branch.label")} className="flex items-center text-ink-3">
      <IconButton
        label={t("chat.branch.before")}
        size="sm"
        disabled={branch.before === undefined || !onShow}
        onClick={() => to(branch.before)}
      >
        <ChevronLeft size={15} />
      </IconButton>
      <span
        className="num text-xs"
        aria-label={t("chat.branch.place", { place: branch.place, of: branch.of })}
      >
        {branch.place}/{branch.of}
      </span>
      <IconButton
        label={t("chat.branch.after")}
        size="sm"
        disabled={branch.after === undefined || !onShow}
        onClick={() => to(branch.after)}
      >
        <ChevronRight size={15} />
      </IconButton>
    </span>
  );
}
