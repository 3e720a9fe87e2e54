//! Figures of a fabric's design.
use super::declare;

declare! {
    FABRIC: Fabric, Both;
    /// Pods.
    PODS = "pods": Count, Neither;
    /// Segments in all pods.
    SEGMENTS = "segments": Count, Neither;
    /// Planes of the second tier; 1 where it is not split.
    PLANES = "planes": Count, Neither;
    /// Active hosts.
    HOSTS_ACTIVE = "hosts_active": Count, Neither;
    /// GPUs of active hosts.
    GPUS_ACTIVE = "gpus_active": Count, Neither;
    /// GPUs of backup hosts.
    GPUS_SPARE = "gpus_spare": Count, Neither;
    /// Active GPUs in the first segment.
    GPUS_PER_SEGMENT = "gpus_per_segment": Count, Neither;
    /// GPUs of backup hosts in the first segment.
    SPARE_GPUS_PER_SEGMENT = "spare_gpus_per_segment": Count, Neither;
    /// Active GPUs in the first pod.
    GPUS_PER_POD = "gpus_per_pod": Count, Neither;
    /// Active GPUs under the first leaf: the leaf set that a NIC reaches.
    GPUS_PER_LEAF_SET = "gpus_per_leaf_set": Count, Neither;
    /// Leaves in the first segment.
    LEAVES_PER_SEGMENT = "leaves_per_segment": Count, Neither;
    /// Leaves that the first host reaches.
    LEAVES_PER_HOST = "leaves_per_host": Count, Neither;
    /// Spines of one plane in the first pod.
    SPINES_PER_PLANE = "spines_per_plane": Count, Neither;
    /// Choices of a path from one port of a host to another segment of its pod: fan-outs on the way, multiplied (HPN
    /// table 1).
    PATH_CHOICES = "path_choices": Count, Neither;
    /// Path choices of SuperPod (HPN table 1) over those of this fabric.
    SUPERPOD_OVER_PATH_CHOICES = "superpod_over_path_choices": Count, Neither;
    /// Path choices of Jupiter (HPN table 1) over those of this fabric.
    JUPITER_OVER_PATH_CHOICES = "jupiter_over_path_choices": Count, Neither;
    /// Path choices of a fat tree of 48 ports (HPN table 1) over those of this fabric.
    FAT_TREE_OVER_PATH_CHOICES = "fat_tree_over_path_choices": Count, Neither;
    /// Leaf sets in the first segment.
    LEAF_SETS_PER_SEGMENT = "leaf_sets_per_segment": Count, Neither;
    /// Down ports of a spine over those with as many down as up, less one (HPN section 6.2).
    SPINE_PORTS_RELEASED = "spine_ports_released": Count, Neither;
    /// Storage hosts, of fabrics with storage.
    STORAGE_HOSTS = "storage_hosts": Count, Neither;
    /// Cables from active hosts to leaves.
    CABLES_ACCESS = "cables_access": Count, Neither;
    /// Cables from leaf to spine.
    CABLES_LEAF_SPINE = "cables_leaf_spine": Count, Neither;
    /// Cables from spine to core.
    CABLES_SPINE_CORE = "cables_spine_core": Count, Neither;
    /// Leaves whose loss alone cuts off a NIC.
    LEAF_SINGLE_POINTS_OF_FAILURE = "leaf_single_points_of_failure": Count, Less;
    /// Switches of the tier.
    SWITCHES = "<tier>_switches": Count, Neither;
    /// Cabled ports of a switch towards active hosts or lower switches.
    DOWN_PORTS = "<tier>_down_ports": Count, Neither;
    /// Ports of a switch towards backup hosts.
    SPARE_PORTS = "<tier>_spare_ports": Count, Neither;
    /// Ports of a switch away from the hosts, cabled or held for the tier above.
    UP_PORTS = "<tier>_up_ports": Count, Neither;
    /// Active down capacity of a switch over its up capacity.
    OVERSUBSCRIPTION = "<tier>_oversubscription": Count, Neither;
    /// Capacity of NVLink over that of the NIC of one GPU, per direction.
    NVLINK_TO_NIC = "nvlink_to_nic": Count, Neither;
    /// Backend capacity of the first host.
    HOST_BACKEND = "host_backend": BitsPerSecond, Neither;
    /// Frontend capacity of the first host.
    HOST_FRONTEND = "host_frontend": BitsPerSecond, Neither;
    /// Capacity of all ports of a switch.
    CHIP_USED = "<tier>_chip_used": BitsPerSecond, Neither;
    /// With the first spine gone: paths from a NIC port of the first host to a host of another segment.
    PATHS_AFTER_SPINE_LOSS = "paths_after_spine_loss": Count, Neither;
    /// With the first spine gone: what a leaf can still send to another segment, of what it could.
    CAPACITY_AFTER_SPINE_LOSS = "capacity_after_spine_loss": Share, More;
}
