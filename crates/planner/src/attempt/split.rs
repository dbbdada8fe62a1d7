//! How layers are divided over several devices.

use plimsoll_units::Bytes;

use super::{Bench, Device};
use crate::memory::{self, Layout, Load, MemoryBackend};

impl Bench<'_> {
    /// Shares of the devices for the load's layers, as whole layers: in proportion to their room, and one device
    /// after the other to its brim.
    pub(crate) fn splits(&self, load: &Load) -> Vec<Vec<f64>> {
        let even = self.even_split(load.gpu_layers);
        let shares = |counts: &[u32]| counts.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let filled = self.filled_split(load, shares(&even));
        if even == filled {
            vec![shares(&even)]
        } else {
            vec![shares(&even), shares(&filled)]
        }
    }

    /// Room for weights and context on a device with such a compute buffer.
    fn space(&self, device: &Device, compute: Bytes) -> Bytes {
        self.budget(device).less(device.context.bytes).less(compute)
    }

    fn even_split(&self, layers: u32) -> Vec<u32> {
        let rooms = self
            .devices
            .iter()
            .map(|device| u128::from(self.space(device, Bytes::ZERO).0));
        let total: u128 = rooms.clone().sum::<u128>().max(1);
        let (mut seen, mut given) = (0, 0);
        rooms
            .map(|room| {
                seen += room;
                let until = u32::try_from(u128::from(layers) * seen / total).unwrap_or(layers);
                let count = until - given;
                given = until;
                count
            })
            .collect()
    }

    fn filled_split(&self, load: &Load, even: Vec<f64>) -> Vec<u32> {
        // The compute buffers hardly depend on the split.
        let load = Load {
            tensor_split: even,
            ..load.clone()
        };
        let compute = Layout::of(self.shape, &load, &self.pools, self.cpu, self.release).compute();
        let backend = self.pools.first().map_or(MemoryBackend::Rpc, |pool| pool.backend);
        let weights = memory::weights_of_layers(self.shape, &load, backend);
        let cache = memory::cache_of_layers(self.shape, &load)
            .into_iter()
            .chain(self.shape.drafting.iter().map(|_| Bytes::ZERO))
            .chain([Bytes::ZERO]);
        let needs: Vec<Bytes> = weights
            .into_iter()
            .zip(cache)
            .map(|(weights, cache)| weights.plus(cache))
            .collect();
        let first = needs.len().saturating_sub(load.gpu_layers as usize);
        let mut left = needs.get(first..).unwrap_or_default().iter();
        let last = self.devices.len().saturating_sub(1);
        let mut counts = Vec::new();
        for (number, (device, &compute)) in self.devices.iter().zip(&compute).enumerate() {
            let space = self.space(device, compute);
            let mut taken = Bytes::ZERO;
            let mut count = 0u32;
            let mut peek = left.clone();
            while let Some(&need) = peek.next() {
                taken = taken.plus(need);
                if taken > space && number < last {
                    break;
                }
                left = peek.clone();
                count += 1;
            }
            counts.push(count);
        }
        counts
    }
}
