//! Downloads as the app starts them: the transfer, and what is told when it is done.

use std::sync::Arc;

use plimsoll_wire::{CatalogReply, Event};

use crate::App;
use crate::engines::Choice;
use crate::fault::Failed;
use crate::machine::{Freshness, RamSpeed};
use crate::models::Order;
use crate::moving::MOVE;
use crate::refresh::refresh;
use crate::transfers::Brought;

impl App {
    /// Starts or joins the download of a model; gives the transfer's id.
    pub(crate) fn fetch_model(&self, order: Order) -> String {
        let id = order.id();
        let (models, bus) = (Arc::clone(&self.models), self.bus.clone());
        let (transfers, of) = (self.transfers.clone(), id.clone());
        self.transfers.start(&id, move |watcher, stop| async move {
            let told = |note| transfers.note(&of, note);
            let brought = models.fetch(&order, watcher, &told, &stop).await?;
            if brought == Brought::All {
                bus.tell(Event::LibraryChanged);
            }
            Ok(brought)
        });
        id
    }

    /// Asks the catalog's publisher for a newer one.
    pub(crate) async fn refresh_catalog(&self) -> Result<CatalogReply, Failed> {
        let config = self.config();
        let hub = self.models.hub();
        refresh(&hub, &config.home, config.publisher.as_ref(), config.catalog).await
    }

    /// Takes up the downloads that the end of the last run cut off; those that a person stopped stay stopped. For
    /// programs that stay: what is called for one question has no business with them.
    pub fn take_up_transfers(self: &Arc<Self>) {
        let (app, cut) = (Arc::clone(self), self.transfers.take_cut());
        if cut.is_empty() {
            return;
        }
        self.jobs.keep(|_| async move {
            for id in cut {
                if id == MOVE {
                    app.resume_move().await;
                    continue;
                }
                tracing::info!(transfer = id, "a download that was cut off goes on");
                if let Ok(order) = app.models.order(&id).await {
                    app.fetch_model(order);
                    continue;
                }
                let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await;
                let choice = machine.map(|machine| app.engines.choice_of(&machine, &id));
                match choice {
                    Ok(Some(choice)) => drop(app.fetch_engine(choice)),
                    Ok(None) => tracing::info!(transfer = id, "nobody knows what it was"),
                    Err(error) => tracing::warn!(?error, transfer = id, "it waits for a click"),
                }
            }
        });
    }

    /// The same for an engine.
    pub(crate) fn fetch_engine(&self, choice: Choice) -> String {
        let id = choice.id().to_owned();
        let (engines, bus) = (Arc::clone(&self.engines), self.bus.clone());
        self.transfers.start(&id, move |watcher, stop| async move {
            let brought = engines.install(&choice, watcher, &stop).await?;
            if brought == Brought::All {
                bus.tell(Event::EnginesChanged);
            }
            Ok(brought)
        });
        id
    }
}
